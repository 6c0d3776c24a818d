/// One thread that carries transfers: sockets, timers and, for those who ask for it, Swift tasks.
///
/// Sessions use ``shared`` unless they are given loops of their own. A loop ends by itself when nobody holds it any more
/// and the sessions on it are gone.
///
/// It is a task executor, so that a caller may run on it and reach a transfer without changing threads. Code that runs
/// there must not block:
/// ```swift
/// try await withTaskExecutorPreference(loop) { try await session.get("status") }
/// ```
public final class EventLoop: SerialExecutor, TaskExecutor, Sendable {
    let core: LoopCore

    /// Starts a loop.
    /// - Parameter name: The thread's name, of which the first 15 bytes are used.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted``.
    public init(name: String = "curlew-loop") throws {
        core = try LoopCore(name: name)
        core.taskExecutor = asUnownedTaskExecutor()
    }

    deinit { core.stop() }

    private static let sharedResult = Result { try EventLoop() }

    /// The loop that sessions use by default; it lives as long as the process.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if it could not be started.
    public static var shared: EventLoop {
        get throws { try sharedResult.get() }
    }

    public func enqueue(_ job: consuming ExecutorJob) { core.enqueue(job) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { core.asUnownedSerialExecutor() }

    /// The loop itself, not its core: the runtime keeps the executor that it is given, and lets go of the one that this
    /// names.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// Whether the caller is on the loop's thread.
    public func isIsolatingCurrentContext() -> Bool? { core.isCurrent }

    public func checkIsolated() { core.checkIsolated() }
}
