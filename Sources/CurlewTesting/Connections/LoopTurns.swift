#if TestKit
internal import NIOConcurrencyHelpers
internal import NIOCore

/// Gives an event loop a turn to look at its sockets now and then while tasks write through it.
///
/// NIO's loop runs what was handed to it until nothing is left, and only then looks at its sockets. A task on another
/// thread that writes without end hands it the next write before the last is done; as long as the sockets take it
/// all, nothing that clients send is read any more, on no connection of the loop. So after ``writesPerTurn`` writes
/// everybody who writes through the loop waits until it has been idle for a moment.
final class LoopTurns: Sendable {
    private struct State: Sendable {
        var writes = 0
        var isPausing = false
    }

    private static let writesPerTurn = 256
    private static let pause = TimeAmount.microseconds(100)
    /// By loop; the loops of this module live as long as the process.
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

    /// Call it before each write; it suspends while the loop is to have its turn.
    func pass() async throws {
        let beginsPause = try await self.state.take { state -> Bool? in
            guard !state.isPausing else { return nil }
            state.writes += 1
            state.isPausing = state.writes >= Self.writesPerTurn
            return state.isPausing
        }
        guard beginsPause else { return }
        // Behind the writes that the loop has yet to do.
        self.loop.execute { [loop, state] in
            loop.assumeIsolated().scheduleTask(in: Self.pause) { state.update { $0 = State() } }
        }
    }
}
#endif
