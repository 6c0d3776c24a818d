// The types are `@usableFromInline`, because the compiler inlines functions of other package types into no other
// module, without a warning.
#if CURLEW_THREAD_SANITIZER
internal import CurlewPlatform

/// A pthread mutex for builds with ThreadSanitizer. It cannot follow the futex code of `Synchronization.Mutex`, and
/// would report races that do not exist. `make test-thread` defines the condition.
///
/// `@unchecked Sendable`: the mutex has a fixed address from `init` to `deinit`, and is made for sharing.
@usableFromInline
package struct Lock: ~Copyable, @unchecked Sendable {
    private let storage = MutexStorage.make()

    @usableFromInline
    package init() {}

    @usableFromInline
    package borrowing func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let mutex = storage.mutex
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// The result of `body`; nil if another thread holds the lock.
    @usableFromInline
    package borrowing func withLockIfAvailable<Result>(_ body: () -> Result) -> Result? {
        let mutex = storage.mutex
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return body()
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
#else
public import Synchronization

/// A lock that is stored inside its owner.
@usableFromInline
package struct Lock: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Void>

    @inlinable
    package init() { mutex = Mutex(()) }

    @inlinable @inline(__always)
    package borrowing func withLock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try mutex.withLock { (_) throws(Failure) in LockResult(value: try body()) }.value
    }

    /// The result of `body`; nil if another thread holds the lock.
    @inlinable
    package borrowing func withLockIfAvailable<Result>(_ body: () -> Result) -> Result? {
        mutex.withLockIfAvailable { _ in LockResult(value: body()) }?.value
    }
}

/// The result of work under a lock.
///
/// `@unchecked Sendable`: the result is returned to the caller of `withLock` on the same thread. `Mutex` requires
/// `Sendable` because it protects a value that the result might share; this lock protects none.
@usableFromInline
struct LockResult<Value>: @unchecked Sendable {
    @usableFromInline let value: Value

    @inlinable
    init(value: Value) { self.value = value }
}
#endif

/// A point that one thread passes before it resumes another, and that the other passes after it was resumed. It has an
/// effect only in builds for ThreadSanitizer, which cannot recognize that the runtime orders both threads.
@usableFromInline
package struct Ordering: ~Copyable, Sendable {
    #if CURLEW_THREAD_SANITIZER
    private let lock = Lock()

    @usableFromInline
    package init() {}

    @usableFromInline
    package func establish() { lock.withLock {} }
    #else
    @inlinable
    package init() {}

    @inlinable @inline(__always)
    package func establish() {}
    #endif
}

/// A value that only one thread at a time can access.
///
/// `@unchecked Sendable`: the lock protects the value.
@usableFromInline
package final class Guarded<Value>: @unchecked Sendable {
    @usableFromInline let lock = Lock()
    @exclusivity(unchecked) @usableFromInline var value: Value

    @inlinable
    package init(_ value: sending Value) { self.value = value }

    @inlinable
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}
