import Curlew
import SeededNumbers

@testable import CurlewWebSockets

/// A check of arbitrary bytes. Both roles, with and without compression, must give the same result for any pieces.
///
/// The fuzz target FuzzWebSocketFrames has the same check. A change belongs to both.
/// - Parameter bytes: The frames. The last byte selects the pieces, and the byte before it the limits.
/// - Returns: A description of the first difference; nil without a difference.
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

/// True if two transcripts are the same. If a compressed message has two faults, the pieces decide which fault is found
/// first: zlib reports corrupt data before the preceding text is validated. The limit of the ratio also depends on the
/// pieces, and is off.
private func isSame(_ cut: Transcript, _ whole: Transcript, isCompressed: Bool) -> Bool {
    guard isCompressed, cut.violation != nil, whole.violation != nil else { return cut == whole }
    return cut.entries == whole.entries
}

/// The rule that a transcript violates.
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

/// The difference after the other role has written the messages and they are read again.
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
