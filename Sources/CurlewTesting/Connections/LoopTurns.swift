#if TestKit
internal import NIOConcurrencyHelpers
internal import NIOCore

/// Pauses writers regularly, so that an event loop can poll its sockets.
///
/// NIO's loop runs all submitted work before it polls its sockets. A task on another thread that writes without end
/// submits the next write before the last is done. As long as the sockets accept all bytes, the loop then reads from
/// none of its connections. So after ``writesPerTurn`` writes every writer of the loop waits until the loop has been
/// idle for a moment.
final class LoopTurns: Sendable {
    private struct State: Sendable {
        var writes = 0
        var isPausing = false
    }

    private static let writesPerTurn = 256
    private static let pause = TimeAmount.microseconds(100)
    /// The instances by event loop; the loops of this module live as long as the process.
    private static let known = NIOLockedValueBox<[ObjectIdentifier: LoopTurns]>([:])

    private let loop: any EventLoop
    private let state = Watched(State())

    private init(_ loop: any EventLoop) {
        self.loop = loop
    }

    static func of(_ loop: any EventLoop) -> LoopTurns {
        self.known.withLockedValue { known in
            if let turns = known[ObjectIdentifier(loop)] { return turns }
            let made = LoopTurns(loop)
            known[ObjectIdentifier(loop)] = made
            return made
        }
    }

    /// Must be called before each write; suspends while the loop polls its sockets.
    func pass() async throws {
        let beginsPause = try await self.state.take { state -> Bool? in
            guard !state.isPausing else { return nil }
            state.writes += 1
            state.isPausing = state.writes >= Self.writesPerTurn
            return state.isPausing
        }
        guard beginsPause else { return }
        // The pause begins after the loop has performed the writes that are already submitted.
        self.loop.execute { [loop, state] in
            loop.assumeIsolated().scheduleTask(in: Self.pause) { state.update { $0 = State() } }
        }
    }
}
#endif
