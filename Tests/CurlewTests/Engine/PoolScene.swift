import CurlewTesting
import CurlewTestingTraits
import Testing

@testable import CurlewCore

/// The servers of the tests of the pool.
enum PoolScene {
    /// A server that answers `/held` when the gate opens, and other paths at once.
    static func server(
        _ gate: Gate, _ configuration: MockServer.Configuration = MockServer.Configuration()
    ) async throws -> MockServer {
        try await MockServer.start(configuration) { request in
            if request.target.hasPrefix("/held") { try await gate.wait() }
            return MockResponse(body: .string(request.target))
        }
    }
}

extension HTTPSession {
    /// Waits until this number of exchanges waits for a connection, including those whose connection is being opened.
    func expectWaiting(atLeast count: Int) async throws {
        try await eventually("\(count) exchanges wait") {
            guard let figures = await self.session?.figures() else { return false }
            return figures.tasksAwaitingConnections + figures.pendingConnections >= count
        }
    }
}
