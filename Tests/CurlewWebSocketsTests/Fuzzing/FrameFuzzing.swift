import Curlew
import SeededNumbers

@testable import CurlewWebSockets

/// A check of arbitrary bytes: both roles, with and without compression, give the same for one piece and for others.
///
/// The same check is the target FuzzWebSocketFrames; a change belongs to both.
/// - Parameter bytes: The frames. The last byte chooses the pieces, and the one before it the limits.
/// - Returns: A text about the first difference; nil if there is none.
func fuzzFrames(_ bytes: UnsafeRawBufferPointer) -> String? {
    let seed = UInt64(bytes.last ?? 0)
    let limits =
        bytes.dropLast().last.map { $0.isMultiple(of: 2) } ?? true
        ? CurlewWebSocket.Limits()
        : CurlewWebSocket.Limits(messageSize: 100, frameSize: 60, ratio: nil)
    let frames = Array(bytes.dropLast(2))
    for role in [WebSocketRole.client, .server] {
        for compression in compressions {
            let whole = Transcript(of: [frames], role: role, limits: limits, compression: compression)
            for pieces in Pieces.all(of: frames, seed: seed).dropFirst() {
                let cut = Transcript(of: pieces, role: role, limits: limits, compression: compression)
                guard isSame(cut, whole, isCompressed: compression != nil) else {
                    return "\(role): \(cut) instead of \(whole) from \(frames)"
                }
            }
            if let fault = fault(of: whole, limits: limits) { return "\(role): \(fault) from \(frames)" }
            if let fault = rewritingFault(of: whole, role: role, compression: compression) {
                return "\(role): \(fault) from \(frames)"
            }
        }
    }
    return nil
}

private let compressions: [DeflateAgreement?] = {
    var fresh = DeflateAgreement()
    fresh.clientKeepsContext = false
    fresh.serverKeepsContext = false
    return [nil, DeflateAgreement(), fresh]
}()

/// True if two transcripts are the same. Of two faults in one compressed message the pieces decide which one is found
/// first: zlib reports corrupt data before the text ahead of it is checked. (The ratio of a message depends on its
/// pieces, too, and is off.)
private func isSame(_ cut: Transcript, _ whole: Transcript, isCompressed: Bool) -> Bool {
    guard isCompressed, cut.violation != nil, whole.violation != nil else { return cut == whole }
    return cut.entries == whole.entries
}

/// A rule that a transcript breaks.
private func fault(of transcript: Transcript, limits: CurlewWebSocket.Limits) -> String? {
    for entry in transcript.entries {
        switch entry {
        case .message(let message) where message.bytes.count > limits.messageSize.bytes: return "a long message"
        case .ping(let payload) where payload.count > 125, .pong(let payload) where payload.count > 125:
            return "a long control frame"
        case .close(let status) where status != .withoutCode && !status.code.isTransmissible: return "a bad code"
        default: break
        }
    }
    guard let violation = transcript.violation else { return nil }
    return violation.closeCode.isTransmissible && violation != .outOfMemory ? nil : "the violation \(violation)"
}

/// A difference after the messages were written by the other role, and read again.
private func rewritingFault(
    of transcript: Transcript, role: WebSocketRole, compression: DeflateAgreement?
) -> String? {
    var writer = MessageWriter(
        role: role == .client ? .server : .client, compression: compression,
        options: CurlewWebSocket.Compression(minimumSize: 4), random: SeededNumbers(seed: 1))
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
        return "\(error) when it is written"
    }
    let read = Transcript(of: [bytes], role: role, compression: compression)
    return read == Transcript(transcript.entries) ? nil : "\(read) when it is read again"
}
