/// A thread that runs transfers: sockets, timers and, on request, Swift tasks.
///
/// Sessions use ``shared`` unless they get their own loops. A loop ends by itself after its last reference and all its
/// sessions are gone.
///
/// The loop is a task executor, so that a caller may run on it and reach a transfer without a change of threads. Code
/// on the loop must not block:
/// ```swift
/// try await withTaskExecutorPreference(loop) { try await session.get("status") }
/// ```
public final class CurlewEventLoop: SerialExecutor, TaskExecutor, Sendable {
    let core: LoopCore

    /// Makes and starts a loop.
    /// - Parameter name: The thread's name, of which the first 15 bytes are used.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted``.
    public init(name: String = "curlew-loop") throws {
        core = try LoopCore(name: name)
        core.taskExecutor = asUnownedTaskExecutor()
    }

    deinit { core.stop() }

    private static let sharedResult = Result { try CurlewEventLoop() }

    /// The loop that sessions use by default. It lives as long as the process.
    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if it could not be started.
    public static var shared: CurlewEventLoop {
        get throws { try sharedResult.get() }
    }

    public func enqueue(_ job: consuming ExecutorJob) { core.enqueue(job) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { core.asUnownedSerialExecutor() }

    /// The executor is the loop itself, not its core, because the runtime retains and releases the returned object.
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
    /// Calls the actor from code that already runs on its loop.
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

/// A value that is passed to code on the same thread.
///
/// `@unchecked Sendable`: the value never leaves its loop's thread.
private struct Carried<Value>: @unchecked Sendable {
    let value: Value
}
