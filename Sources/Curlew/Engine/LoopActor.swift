/// An actor whose executor is an event loop.
protocol LoopActor: Actor {
    nonisolated var loop: EventLoop { get }
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
        loop.core.checkIsolated()
        // Being isolated is a matter of the type alone: the same function is called with the same arguments.
        return unsafeBitCast(operation, to: ((Self, Argument) -> Result).self)(self, argument)
    }
}
