#if TestKit
extension MockServer {
    /// The received requests, oldest first; ends when the server has ended.
    ///
    /// A request is recorded when all of it has arrived, or when the client or a fault has aborted it. The state of its
    /// handler does not matter, but the server reads only 256 KiB ahead of the handler. Each request is returned once,
    /// to the first reader, here or from ``takeRequest()``.
    public var requests: AsyncStream<RecordedRequest> {
        AsyncStream { [log = self.core.log] in await log.take() }
    }

    /// Returns the next request and waits for it; `nil` when the server has ended or the task is cancelled.
    public func takeRequest() async -> RecordedRequest? {
        await self.core.log.take()
    }

    /// The number of recorded requests so far.
    public var requestCount: Int { self.core.log.total }

    /// Returns when `count` requests have been recorded.
    public func waitForRequests(_ count: Int) async throws {
        try await self.core.log.waitForTotal(count)
    }

    /// The connection counts so far.
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

    /// Injects a fault: by default at the next exchange or connection.
    ///
    /// A server with both versions accepts faults of HTTP/2. If one of them hits an exchange over HTTP/1.1, the server
    /// answers with 500 and the reason.
    ///
    /// - Throws: ``TestKitError`` with the reason when the fault can never happen at this server; see ``Fault``.
    public func inject(_ fault: Fault, at target: Fault.Target = .next) throws {
        try self.core.faults.inject(fault, at: target)
    }

    /// Removes all waiting faults, also recurring ones that have already happened.
    public func removeFaults() {
        self.core.faults.removeAll()
    }

    /// The faults that have begun or happened, oldest first.
    public var committedFaults: [CommittedFault] { self.core.faults.committed }

    /// Returns when `count` faults have begun or happened.
    public func waitForFaults(_ count: Int) async throws {
        try await self.core.faults.waitForCommitted(count)
    }

    /// Checks that the queue of responses is empty and that every injected fault has happened.
    ///
    /// A fault fails the check if it hit no exchange or connection, or if its moment never came, such as an offset
    /// beyond the body or a failed handshake. A fault for every exchange or connection may be overtaken by other
    /// faults, but not every time.
    ///
    /// - Throws: ``TestKitError`` that names the rest.
    public func verify() throws {
        let left = self.core.queueLength
        let complaints = self.core.faults.complaints + (left == 0 ? [] : ["responses left in the queue: \(left)"])
        if !complaints.isEmpty { throw TestKitError(complaints.joined(separator: "; ")) }
    }
}
#endif
