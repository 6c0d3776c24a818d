internal import Curlew

/// The watch over a WebSocket that is silent: pings, their patience, idle sockets and their memory. A pure machine.
struct SocketHealth {
    /// The consequence of a look.
    enum Look: Hashable {
        case wait
        /// Send a ping.
        case ping
        /// Free the memory that an idle socket does not need.
        case freeMemory
        /// The peer is gone.
        case lost
        /// There was no message for too long.
        case idle
    }

    private let pingInterval: Int64
    private let patience: Int64
    private let idleLimit: Int64
    /// The time after which memory is freed.
    private static let memoryTime: Int64 = 10_000_000_000

    private var lastInput: Instant
    private var lastMessage: Instant
    /// The moment at which a ping was sent that nothing has followed.
    private var pingSent: Instant?
    private var hasFreedMemory = false
    /// The moment for the next look.
    private(set) var nextLook: Instant

    init(_ options: CurlewWebSocket.Options, at now: Instant) {
        pingInterval = options.pingInterval?.nanosecondsClamped ?? .max
        patience = options.pongPatience.nanosecondsClamped
        idleLimit = options.idleTimeout?.nanosecondsClamped ?? .max
        lastInput = now
        lastMessage = now
        nextLook = now
    }

    /// Bytes have come.
    mutating func noteInput(at now: Instant) {
        lastInput = now
        pingSent = nil
    }

    /// A message, or a part of one, has come or was sent.
    mutating func noteMessage(at now: Instant) {
        lastMessage = now
        hasFreedMemory = false
    }

    /// Looks at the clocks.
    /// - Parameter isReading: False if the socket is not read, so that a pong would not be seen.
    mutating func look(at now: Instant, isReading: Bool) -> Look {
        let result = next(at: now, isReading: isReading)
        nextLook = min(
            pingSent?.advanced(by: patience) ?? lastInput.advanced(by: pingInterval),
            lastMessage.advanced(by: idleLimit),
            hasFreedMemory ? .distantFuture : lastMessage.advanced(by: Self.memoryTime))
        return result
    }

    private mutating func next(at now: Instant, isReading: Bool) -> Look {
        if lastMessage.advanced(by: idleLimit) <= now {
            lastMessage = now
            return .idle
        }
        guard isReading else {
            noteInput(at: now)
            return .wait
        }
        if let pingSent {
            if pingSent.advanced(by: patience) <= now { return .lost }
        } else if lastInput.advanced(by: pingInterval) <= now {
            pingSent = now
            return .ping
        }
        if !hasFreedMemory, lastMessage.advanced(by: Self.memoryTime) <= now {
            hasFreedMemory = true
            return .freeMemory
        }
        return .wait
    }
}
