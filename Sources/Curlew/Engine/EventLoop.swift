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
public final class CurlewEventLoop: SerialExecutor, TaskExecutor, Sendable {
    let core: LoopCore

    /// Starts a loop.
    /// - Parameter name: The thread's name, of which the first 15 bytes are used.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted``.
    public init(name: String = "curlew-loop") throws {
        core = try LoopCore(name: name)
        core.taskExecutor = asUnownedTaskExecutor()
    }

    deinit { core.stop() }

    private static let sharedResult = Result { try CurlewEventLoop() }

    /// The loop that sessions use by default; it lives as long as the process.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if it could not be started.
    public static var shared: CurlewEventLoop {
        get throws { try sharedResult.get() }
    }

    public func enqueue(_ job: consuming ExecutorJob) { core.enqueue(job) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { core.asUnownedSerialExecutor() }

    /// The loop itself, not its core: the runtime retains the executor that it is given, and releases the one that this
    /// names.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// True if the caller runs on the loop.
    public func isIsolatingCurrentContext() -> Bool? { core.isCurrent }

    public func checkIsolated() { core.checkIsolated() }
}

/// An actor whose executor is an event loop.
package protocol LoopActor: Actor {
    nonisolated var loop: CurlewEventLoop { get }
}

extension LoopActor {
    /// Calls the actor from code that runs on its loop already.
    package nonisolated func enter<Argument, Result>(
        _ argument: Argument, _ operation: @escaping (isolated Self, Argument) -> Result
    ) -> Result {
        loop.core.checkIsolated()
        let carried = Carried(value: (argument, operation))
        return assumeIsolated { actor in
            let (argument, operation) = carried.value
            return Carried(value: operation(actor, argument))
        }.value
    }
}

/// A value on its way to code on the same thread.
///
/// `@unchecked Sendable`: it leaves the thread of its loop nowhere between.
private struct Carried<Value>: @unchecked Sendable {
    let value: Value
}
