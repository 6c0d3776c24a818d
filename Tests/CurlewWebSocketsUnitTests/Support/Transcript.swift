@testable import CurlewWebSockets

/// The result of reading a peer's bytes: complete messages and control frames in their order, and the violation that
/// ended them.
struct Transcript: Hashable {
    enum Entry: Hashable {
        case message(CurlewWebSocket.Message)
        case ping([UInt8])
        case pong([UInt8])
        case close(CurlewWebSocket.CloseStatus)
    }

    var entries: [Entry] = []
    /// The bytes of an incomplete message.
    var unfinished: [UInt8] = []
    var violation: WebSocketViolation?

    var messages: [CurlewWebSocket.Message] {
        entries.compactMap { entry in
            guard case .message(let message) = entry else { return nil }
            return message
        }
    }

    init(_ entries: [Entry] = [], unfinished: [UInt8] = [], violation: WebSocketViolation? = nil) {
        self.entries = entries
        self.unfinished = unfinished
        self.violation = violation
    }

    /// Reads pieces with a ``MessageReader``.
    init(
        of pieces: [[UInt8]], role: WebSocketRole, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(),
        compression: DeflateAgreement? = nil
    ) {
        var reader = MessageReader(role: role, limits: limits, compression: compression)
        var buffer = ReceiveBuffer(capacity: 256)
        var kind = CurlewWebSocket.Message.Kind.binary
        do {
            for piece in pieces {
                buffer.fill(with: piece)
                while let event = try reader.next(in: &buffer, into: &unfinished) {
                    switch event {
                    case .begin(let begun): kind = begun
                    case .chunk: break
                    case .end:
                        entries.append(.message(CurlewWebSocket.Message(kind, bytes: unfinished)))
                        unfinished = []
                    case .ping(let payload): entries.append(.ping(payload))
                    case .pong(let payload): entries.append(.pong(payload))
                    case .close(let status): entries.append(.close(status))
                    }
                }
            }
        } catch {
            violation = error
            // The bytes before a violation depend on the pieces, because text is validated piece by piece.
            unfinished = []
        }
    }
}
