internal import Curlew
internal import FuzzingKit

@testable internal import CurlewWebSockets

/// The frames of a peer give the same messages in any pieces, for both roles, with and without compression, and within
/// the limits. The messages are unchanged after writing and reading.
@main
struct FuzzWebSocketFrames: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let seed = choices.byte()
        let limits = choices.one(of: [
            CurlewWebSocket.Limits(), CurlewWebSocket.Limits(messageSize: 100, frameSize: 60, ratio: nil),
        ])
        let role = choices.one(of: [WebSocketRole.client, .server])
        let compression = choices.one(of: [nil, DeflateAgreement(), fresh])
        let frames = choices.rest
        let whole = Transcript(of: [frames], role: role, limits: limits, compression: compression)
        for pieces in piecings(of: frames, seed: seed) {
            let cut = Transcript(of: pieces, role: role, limits: limits, compression: compression)
            if compression != nil, cut.violation != nil, whole.violation != nil {
                // If a message has two faults, the pieces decide which fault is found first: zlib reports corrupt data
                // before the preceding text is validated.
                requireEqual(whole.entries, cut.entries, "the messages depend on the pieces")
            } else {
                requireEqual(whole, cut, "the messages depend on the pieces")
            }
        }
        checkRules(whole, limits)
        checkWriting(whole, role, compression)
    }

    /// An agreement without kept contexts, with the smallest windows.
    private static var fresh: DeflateAgreement {
        var agreement = DeflateAgreement()
        agreement.clientKeepsContext = false
        agreement.serverKeepsContext = false
        agreement.clientWindow = .bits8
        agreement.serverWindow = .bits8
        return agreement
    }

    private static func checkRules(_ transcript: Transcript, _ limits: CurlewWebSocket.Limits) {
        for entry in transcript.entries {
            switch entry {
            case .message(let message):
                require(message.bytes.count <= limits.messageSize.bytes, "a message of \(message.bytes.count) bytes")
            case .ping(let payload), .pong(let payload):
                require(payload.count <= 125, "a control frame of \(payload.count) bytes")
            case .close(let status):
                require(status == .withoutCode || status.code.isTransmissible, "the close code \(status.code)")
            }
        }
        guard let violation = transcript.violation else { return }
        require(violation.closeCode.isTransmissible, "the close code \(violation.closeCode)")
        require(violation != .outOfMemory, "no memory")
    }

    private static func checkWriting(
        _ transcript: Transcript, _ role: WebSocketRole, _ compression: DeflateAgreement?
    ) {
        var writer = MessageWriter(
            role: role == .client ? .server : .client, compression: compression,
            options: CurlewWebSocket.Compression(minimumSize: 4), random: ConstantNumbers())
        var bytes: [UInt8] = []
        do {
            for entry in transcript.entries {
                switch entry {
                case .message(let message): try writer.write(message, into: &bytes)
                case .ping(let payload): writer.write(.ping(payload), into: &bytes)
                case .pong(let payload): writer.write(.pong(payload), into: &bytes)
                case .close(let status): writer.write(.close(status), into: &bytes)
                }
            }
        } catch {
            require(false, "\(error) when it is written")
        }
        requireEqual(
            Transcript(entries: transcript.entries), Transcript(of: [bytes], role: role, compression: compression),
            "the messages are others when they are written and read again")
    }
}

/// A source of the same masks in every run, which makes a finding reproducible.
private struct ConstantNumbers: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0x37FA_213D_A55A_0FF0 }
}

/// The result of reading a peer's bytes.
private struct Transcript: Equatable {
    enum Entry: Equatable {
        case message(CurlewWebSocket.Message)
        case ping([UInt8])
        case pong([UInt8])
        case close(CurlewWebSocket.CloseStatus)
    }

    var entries: [Entry] = []
    /// The bytes of an incomplete message.
    var unfinished: [UInt8] = []
    var violation: WebSocketViolation?

    init(entries: [Entry]) { self.entries = entries }

    init(
        of pieces: [[UInt8]], role: WebSocketRole, limits: CurlewWebSocket.Limits = CurlewWebSocket.Limits(),
        compression: DeflateAgreement?
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
