#if TestKit
extension MockServer {
    /// The requests, oldest first; ends when the server has ended.
    ///
    /// A request is recorded when the whole of it has arrived, whatever its handler does meanwhile, or when the client
    /// or a fault has broken it off. A body that is not read arrives only as far as it is taken in ahead of the
    /// handler. Each request is handed out once, to whoever asks first, here or by ``takeRequest()``.
    public var requests: AsyncStream<RecordedRequest> {
        AsyncStream { [log = self.core.log] in await log.take() }
    }

    /// The next request; waits for one. `nil` when the server has ended or the task is cancelled.
    public func takeRequest() async -> RecordedRequest? {
        await self.core.log.take()
    }

    /// The number of requests that were recorded so far.
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

    /// Has a fault committed: at the next exchange or connection by default.
    ///
    /// - Throws: ``TestKitError`` with the reason when the fault can never happen at this server; see ``Fault``.
    ///
    /// A server that speaks both versions takes faults of HTTP/2; an exchange over HTTP/1.1 that one of them meets is
    /// answered with 500 and the reason.
    public func inject(_ fault: Fault, at target: Fault.Target = .next) throws {
        try self.core.faults.inject(fault, at: target)
    }

    /// Forgets the faults that have met nobody.
    public func removeFaults() {
        self.core.faults.removeAll()
    }

    /// The faults that have happened, or happen now, oldest first.
    public var committedFaults: [CommittedFault] { self.core.faults.committed }

    /// Returns when `count` faults have happened or begun to.
    public func waitForFaults(_ count: Int) async throws {
        try await self.core.faults.waitForCommitted(count)
    }

    /// Checks that the script was played to its end: no response is left in the queue, every fault has met
    /// somebody, and no fault waited in vain for its moment, such as more bytes than there were or a handshake
    /// that failed. One for every exchange or connection may be overtaken by another, but not each time.
    ///
    /// - Throws: ``TestKitError`` that names what is left.
    public func verify() throws {
        let left = self.core.queueLength
        let complaints = self.core.faults.complaints + (left == 0 ? [] : ["responses left in the queue: \(left)"])
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }
}
#endif
