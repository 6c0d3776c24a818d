/// The end of a chain: it sends a request and returns a response. ``SessionActor`` is the transport that uses the
/// network.
public protocol Transport: Sendable {
    /// Sends the request and waits for the head of its response.
    func send(_ request: CurlewRequest) async throws -> CurlewResponse
}
