import Curlew
import CurlewTesting
import CurlewTestingTraits
import Testing

@testable import CurlewWebSockets

/// A server that records the close frames of its clients, and a session.
struct ClosingStage {
    let session: HTTPSession
    private let recorded: Guarded<[CurlewWebSocket.CloseStatus?]>

    /// - Parameter handler: A closure that serves a client, and returns its close frame.
    init(
        options: CurlewWebSocket.Options = CurlewWebSocket.Options(),
        _ handler: @escaping @Sendable (MockWebSocket) async throws -> CurlewWebSocket.CloseStatus?
    ) async throws {
        let recorded = Guarded<[CurlewWebSocket.CloseStatus?]>([])
        let server = try await MockWebSocketServer.start(options: options) { socket in
            let status = try await handler(socket)
            recorded.withLock { $0.append(status) }
        }
        self.recorded = recorded
        session = try makeSession(baseURL: "http://127.0.0.1:\(server.port)/")
    }

    /// The recorded close frames, once there is this number of them.
    func statuses(_ count: Int = 1) async throws -> [CurlewWebSocket.CloseStatus?] {
        try await eventually("the server has seen \(count) ends") { recorded.withLock { $0.count } == count }
        return recorded.withLock { $0 }
    }

    /// The codes of the recorded close frames, once there is this number of them.
    func codes(_ count: Int = 1) async throws -> [CurlewWebSocket.CloseCode?] {
        try await statuses(count).map(\.?.code)
    }
}
