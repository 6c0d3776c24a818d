internal import Curlew

/// The supervision of a silent WebSocket, as a pure state machine: pings, the wait for their pongs, the idle timeout
/// and unused memory.
struct SocketHealth {
    /// The result of a check.
    enum Look: Hashable {
        case wait
        /// Send a ping.
        case ping
        /// Free the memory that an idle WebSocket does not need.
        case freeMemory
        /// The peer did not answer a ping in time.
        case lost
        /// The idle timeout has passed.
        case idle
    }

    private let pingInterval: Int64
    private let pongTimeout: Int64
    private let idleLimit: Int64
    /// The time without a message after which memory is freed.
    private static let memoryTime: Int64 = 10_000_000_000

    private var lastInput: Instant
    private var lastMessage: Instant
    /// The time of a ping after which no byte was received.
    private var pingSent: Instant?
    private var hasFreedMemory = false
    /// The time of the next check.
    private(set) var nextLook: Instant

    init(_ options: CurlewWebSocket.Options, at now: Instant) {
        pingInterval = options.pingInterval?.nanosecondsClamped ?? .max
        pongTimeout = options.pongTimeout.nanosecondsClamped
        idleLimit = options.idleTimeout?.nanosecondsClamped ?? .max
        lastInput = now
        lastMessage = now
        nextLook = now
    }

    /// Records that bytes were received.
    mutating func noteInput(at now: Instant) {
        lastInput = now
        pingSent = nil
    }

    /// Records that a message, or a part of one, was received or sent.
    mutating func noteMessage(at now: Instant) {
        lastMessage = now
        hasFreedMemory = false
    }

    /// Checks the time limits.
    /// - Parameter isReading: False if the socket is not read, so that a pong would not be seen.
    mutating func look(at now: Instant, isReading: Bool) -> Look {
        let result = next(at: now, isReading: isReading)
        nextLook = min(
            pingSent?.advanced(by: pongTimeout) ?? lastInput.advanced(by: pingInterval),
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
            if pingSent.advanced(by: pongTimeout) <= now { return .lost }
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
