extension MockServer {
    /// The requests as they come to their end, oldest first; ends when the server has ended.
    ///
    /// Each request is handed out once, to whoever asks first, here or by ``takeRequest()``.
    public var requests: AsyncStream<RecordedRequest> {
        AsyncStream { [log = self.core.log] in await log.take() }
    }

    /// The next request; waits for one. `nil` when the server has ended or the task is cancelled.
    public func takeRequest() async -> RecordedRequest? {
        await self.core.log.take()
    }

    /// How many requests were recorded so far.
    public var requestCount: Int { self.core.log.total }

    /// Returns when `count` requests have been recorded.
    public func waitForRequests(_ count: Int) async throws {
        try await self.core.log.waitForTotal(count)
    }

    /// What has been counted so far.
    public var connectionCounts: ConnectionCounts { self.listener.counts }

    /// Returns the counts as soon as they satisfy `condition`.
    @discardableResult
    public func waitForConnections(
        until condition: @escaping @Sendable (ConnectionCounts) -> Bool
    ) async throws -> ConnectionCounts {
        try await self.listener.waitForConnections(until: condition)
    }

    /// Returns when exactly `open` connections are open.
    public func waitForConnections(open: Int) async throws {
        try await self.waitForConnections { $0.open == open }
    }

    /// Has a fault committed: at the next exchange or connection unless told otherwise.
    public func inject(_ fault: Fault, at target: Fault.Target = .next) {
        self.core.faults.inject(fault, at: target)
    }

    /// Forgets the faults that have not been committed.
    public func removeFaults() {
        self.core.faults.removeAll()
    }
}
