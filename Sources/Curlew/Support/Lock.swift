internal import Glibc

/// A pthread mutex. `Synchronization.Mutex` would do, but ThreadSanitizer cannot see into its futex code on Linux and
/// reports races that do not exist.
///
/// `@unchecked Sendable`: the mutex lives at one address from `init` to `deinit` and is made to be shared.
struct Lock: @unchecked Sendable {
    // In the object's own tail: one allocation, and an address that stays.
    private let storage: MutexStorage

    init() { storage = MutexStorage.make() }

    @inline(__always)
    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let mutex = storage.mutex
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}

private final class MutexStorage: ManagedBuffer<Void, pthread_mutex_t> {
    static func make() -> MutexStorage {
        let storage = unsafeDowncast(create(minimumCapacity: 1) { _ in () }, to: MutexStorage.self)
        pthread_mutex_init(storage.mutex, nil)
        return storage
    }

    fileprivate var mutex: UnsafeMutablePointer<pthread_mutex_t> { withUnsafeMutablePointerToElements { $0 } }

    deinit { pthread_mutex_destroy(mutex) }
}

/// A value that only one thread at a time can reach.
///
/// `@unchecked Sendable`: the value is touched under the lock alone.
package final class Guarded<Value>: @unchecked Sendable {
    private let lock = Lock()
    @exclusivity(unchecked) private var value: Value

    package init(_ value: sending Value) { self.value = value }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}
