internal import FuzzingKit
internal import HTTPTypes

/// The instructions of an input for the server and its requests.
///
/// The input is a list of answers separated by the bytes 1E 1E; the choices are at its end. Over HTTP/2 an answer is a
/// list of frames separated by the bytes 1D 1D (``WireFrame``).
struct WireScript {
    /// The treatment of the connection after an answer.
    enum Ending { case close, keep, reset }

    struct Answer {
        var bytes: [UInt8]
        var ending: Ending
    }

    /// The treatment of the response by its request.
    enum Reading { case whole, firstChunk, headAlone, cancelled }

    struct Exchange {
        /// The number, from 1; it is in the request's path, and stamped into its answer.
        var number: Int
        var method: HTTPRequest.Method
        var bodySize: Int
        var reading: Reading
    }

    static let answerLimit = 8
    static let separator: UInt8 = 0x1E

    var speaksHTTP2 = false
    /// The number of bytes that the server writes at a time.
    var pieceSize = Int.max
    /// The number of concurrent requests.
    var atOnce = 1
    var answers: [Answer] = []
    var exchanges: [Exchange] = []

    init() {}

    init(_ input: [UInt8]) {
        var choices = Choices(input)
        speaksHTTP2 = choices.flag()
        pieceSize = choices.one(of: [Int.max, 1, 7, 100])
        atOnce = choices.one(of: [1, 1, 2, 4])
        // The script has one request for each answer in the rest of the input.
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

    /// True if every connection serves a single request, so that its bytes cannot belong to another request.
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

/// A frame of HTTP/2 in its input form: the kind, the flags, the stream and the payload. So the length is right for
/// every mutated payload, and the stream can be that of the request.
///
/// A kind of hexadecimal 80 or more means that the other bytes are sent unchanged.
struct WireFrame {
    static let separator: UInt8 = 0x1D
    private static let data: UInt8 = 0

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The wire format.
    /// - Parameters:
    ///   - stream: The stream of the answered request. A 1 in the input means this stream, a 2 the one before, and
    ///     other numbers mean themselves.
    ///   - number: Returns the number of the request on a stream, if it is known.
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
