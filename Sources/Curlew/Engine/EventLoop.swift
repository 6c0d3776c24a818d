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

    /// True if the caller is on the loop's thread.
    public func isIsolatingCurrentContext() -> Bool? { core.isCurrent }

    public func checkIsolated() { core.checkIsolated() }
}

/// An actor whose executor is an event loop.
protocol LoopActor: Actor {
    nonisolated var loop: CurlewEventLoop { get }
}

extension LoopActor {
    /// Calls the actor from code that runs on its loop already.
    ///
    /// What `assumeIsolated` does, at a tenth of its cost: that asks the runtime for the current executor, compares the two
    /// by dynamic casts and allocates twice, a dozen times a request. Here the thread is compared. The operation should
    /// capture nothing, and takes what it needs as its argument.
    nonisolated func enter<Argument, Result>(
        _ argument: Argument, _ operation: @escaping (isolated Self, Argument) -> Result
    ) -> Result {
        #if compiler(>=6.4)
        enterByAssumption(argument, operation)
        #else
        enterByCast(argument, operation)
        #endif
    }

    /// The quick way. Being isolated is a matter of the type alone with the compilers of Swift 6.2 and 6.3: the same function is called with the
    /// same arguments. No compiler promises that.
    nonisolated func enterByCast<Argument, Result>(
        _ argument: Argument, _ operation: @escaping (isolated Self, Argument) -> Result
    ) -> Result {
        loop.core.checkIsolated()
        return unsafeBitCast(operation, to: ((Self, Argument) -> Result).self)(self, argument)
    }

    /// The way that the language promises, for compilers that the quick way was not tried with.
    nonisolated func enterByAssumption<Argument, Result>(
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
