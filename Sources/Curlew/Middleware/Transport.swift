/// The end of a chain: takes a request and brings a response. ``SessionActor`` is the one that uses the network.
public protocol Transport: Sendable {
    /// Sends the request and waits for the head of its response.
    func send(_ request: CurlewRequest) async throws -> CurlewResponse
}
