#if TestKit
internal import NIOCore

/// An asynchronous interface to one channel: ``next()`` receives parts and ``write(_:size:flush:)`` sends them. Each
/// direction suspends when the other side is slower.
final class ChannelPort<Inbound: Sendable, Outbound: Sendable>: Sendable {
    struct State: Sendable {
        var elements: CircularBuffer<Inbound> = []
        var end: Result<Void, any Error>?
        var readIsHeld = false
        var bytesInFlight = 0
        var isClosed = false
    }

    let channel: any Channel
    let state: Watched<State>
    private let turns: LoopTurns

    /// Adds the port's handler to the end of the pipeline. Must be called on the channel's event loop.
    init(installingOn channel: any Channel) throws {
        self.channel = channel
        self.state = Watched(State())
        self.turns = LoopTurns.of(channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(PortHandler<Inbound, Outbound>(state: self.state))
    }

    /// The next received part; `nil` when the peer has ended its direction.
    func next() async throws -> Inbound? {
        let (element, wantsRead) = try await self.state.take { state -> Result<(Inbound?, Bool), any Error>? in
            if let element = state.elements.popFirst() {
                let wantsRead = state.readIsHeld && state.elements.count <= PortLimits.lowWater
                if wantsRead { state.readIsHeld = false }
                return .success((element, wantsRead))
            }
            return state.end.map { end in end.map { (nil, false) } }
        }.get()
        if wantsRead { self.channel.read() }
        return element
    }

    /// Sends a part; suspends while at least ``PortLimits/bytesInFlight`` bytes wait for the peer.
    func write(_ part: Outbound, size: Int = 0, flush: Bool = true) async throws {
        try await self.turns.pass()
        try await self.state.take { state -> Result<Void, any Error>? in
            if state.isClosed { return .failure(ChannelError.ioOnClosedChannel) }
            guard state.bytesInFlight < PortLimits.bytesInFlight else { return nil }
            state.bytesInFlight += size
            return .success(())
        }.get()
        let promise = self.channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { [state] result in
            state.update {
                $0.bytesInFlight -= size
                if case .failure = result { $0.isClosed = true }
            }
        }
        if flush {
            self.channel.writeAndFlush(part, promise: promise)
        } else {
            self.channel.write(part, promise: promise)
        }
    }

    /// Returns when all written bytes are in the kernel; throws when the channel closes before that.
    func drained() async throws {
        try await self.state.take { state -> Result<Void, any Error>? in
            if state.isClosed { return .failure(ChannelError.ioOnClosedChannel) }
            return state.bytesInFlight == 0 ? .success(()) : nil
        }.get()
    }

    /// Returns when the peer has ended its direction or the channel has closed; received parts stay readable.
    func peerClosed() async throws {
        try await self.state.take { $0.end == nil && !$0.isClosed ? nil : () }
    }
}

/// The bounds of every ``ChannelPort``.
enum PortLimits {
    /// Parts that are buffered for a slow reader before reading from the socket pauses.
    static let highWater = 16
    static let lowWater = 4
    /// Written bytes that the kernel has not accepted yet.
    static let bytesInFlight = 1 << 20
}
#endif
