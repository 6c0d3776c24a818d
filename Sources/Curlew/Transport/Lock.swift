internal import Glibc

/// A pthread mutex. `Synchronization.Mutex` would do, but ThreadSanitizer cannot see into its futex code on Linux and
/// reports races that do not exist.
///
/// `@unchecked Sendable`: the mutex lives at one address from `init` to `deinit` and is made to be shared.
final class Lock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always)
    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}
