internal import FuzzingKit
internal import HTTPTypes

/// What an input makes of the server and of the requests to it.
///
/// An input is a list of answers with the bytes 1E 1E between them; the decisions about them are at its end. Over HTTP/2 an
/// answer is a list of frames with the bytes 1D 1D between them (``WireFrame``).
struct WireScript {
    /// How the server treats the connection once an answer is sent.
    enum Ending { case close, keep, reset }

    struct Answer {
        var bytes: [UInt8]
        var ending: Ending
    }

    /// What a request does with its response.
    enum Reading { case whole, firstChunk, headAlone, cancelled }

    struct Exchange {
        /// From 1; it is in the request's path, and stamped into what answers it.
        var number: Int
        var method: HTTPRequest.Method
        var bodySize: Int
        var reading: Reading
    }

    static let answerLimit = 8
    static let separator: UInt8 = 0x1E

    var speaksHTTP2 = false
    /// The server writes so many bytes at a time.
    var pieceSize = Int.max
    /// So many requests are under way at a time.
    var atOnce = 1
    var answers: [Answer] = []
    var exchanges: [Exchange] = []

    init() {}

    init(_ input: [UInt8]) {
        var choices = Choices(input)
        speaksHTTP2 = choices.flag()
        pieceSize = choices.one(of: [Int.max, 1, 7, 100])
        atOnce = choices.one(of: [1, 1, 2, 4])
        // As many as there are answers, so that what is left of the input is those.
        let count = min(Self.answerLimit, pieces(of: input, at: Self.separator).count)
        for number in 1...count {
            let ending = choices.one(of: [Ending.close, .keep, .keep, .reset])
            let method = choices.one(of: [HTTPRequest.Method.get, .get, .head, .post, .put])
            let bodySize = choices.one(of: [0, 10, 3_000, 100_000])
            let reading = choices.one(of: [Reading.whole, .whole, .whole, .firstChunk, .headAlone, .cancelled])
            let hasBody = method == .post || method == .put
            answers.append(Answer(bytes: [], ending: ending))
            exchanges.append(
                Exchange(number: number, method: method, bodySize: hasBody ? bodySize : 0, reading: reading))
        }
        for (index, part) in pieces(of: choices.rest, at: Self.separator).prefix(count).enumerated() {
            answers[index].bytes = part
        }
    }

    /// Whether every connection serves one request alone, so that nothing that it brings can be meant for another.
    var usesConnectionsOnce: Bool { !speaksHTTP2 && answers.allSatisfy { $0.ending != .keep } }
}

/// The parts of `bytes` between pairs of the separator.
func pieces(of bytes: [UInt8], at separator: UInt8) -> [[UInt8]] {
    var parts: [[UInt8]] = [[]]
    var rest = bytes[...]
    while let byte = rest.popFirst() {
        if byte == separator, rest.first == separator {
            rest.removeFirst()
            parts.append([])
        } else {
            parts[parts.count - 1].append(byte)
        }
    }
    return parts
}

/// A frame of HTTP/2 as an input has it: the kind, the flags, the stream and the payload. So its length is right whatever
/// becomes of the payload, and its stream is that of the request where it is meant to be.
///
/// A kind of 80 or more stands for bytes that are sent as they are.
struct WireFrame {
    static let separator: UInt8 = 0x1D
    private static let data: UInt8 = 0

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// What goes over the wire.
    /// - Parameters:
    ///   - stream: The stream of the request that is answered, which 1 stands for. 2 stands for the one before. Any other
    ///     is meant as it is.
    ///   - number: The number of the request on a stream, if it is known.
    func bytes(stream: UInt32, number: (UInt32) -> Int?) -> [UInt8] {
        guard bytes.count >= 3, bytes[0] < 0x80 else { return Array(bytes.dropFirst()) }
        let target: UInt32 =
            switch bytes[2] {
            case 1: stream
            case 2: max(stream, 3) - 2
            default: UInt32(bytes[2])
            }
        var payload = Array(bytes.dropFirst(3))
        if bytes[0] == Self.data, let number = number(target) { Stamp.put(number, into: &payload) }
        return Self.head(kind: bytes[0], flags: bytes[1], stream: target, length: payload.count) + payload
    }

    static func head(kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, length: Int = 0) -> [UInt8] {
        [UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8)]
            + [UInt8(truncatingIfNeeded: length), kind, flags]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: stream >> $0) }
    }
}
