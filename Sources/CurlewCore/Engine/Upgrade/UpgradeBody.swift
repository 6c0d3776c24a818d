internal import HTTPTypes

/// The framing of a response's body in the bytes of its connection (RFC 9112 §6), as a pure state machine.
struct UpgradeBody {
    private enum Framing {
        case length(Int64)
        case chunked(ChunkFraming)
        case trailers
        case untilEnd
        case ended
    }

    /// The next piece of the bytes.
    enum Piece {
        /// Bytes of the body.
        case bytes(Range<Int>)
        /// A line of trailers; an empty line is the last.
        case trailer([UInt8])
        /// The bytes are used up.
        case more
        case broken
    }

    private var framing: Framing
    /// The incomplete line of trailers.
    private var line: [UInt8] = []
    /// The maximum number of bytes in a line of trailers.
    private static let lineLimit = 64 << 10

    init(_ incoming: IncomingResponse, method: HTTPRequest.Method) {
        if let length = incoming.expectedBodyBytes(method: method) {
            framing = length > 0 ? .length(length) : .ended
        } else {
            framing = incoming.framing.isChunked ? .chunked(ChunkFraming()) : .untilEnd
        }
    }

    /// True if the body is complete.
    var isEnded: Bool { if case .ended = framing { true } else { false } }

    /// True if the end of the connection ends the body.
    var endsWithConnection: Bool { if case .untilEnd = framing { true } else { false } }

    mutating func next(in bytes: UnsafeRawBufferPointer, from position: inout Int) -> Piece {
        switch framing {
        case .ended: return .more
        case .untilEnd:
            defer { position = bytes.count }
            return .bytes(position..<bytes.count)
        case .length(let left):
            let count = Int(min(left, Int64(bytes.count - position)))
            defer { position += count }
            framing = left == Int64(count) ? .ended : .length(left - Int64(count))
            return .bytes(position..<position + count)
        case .chunked(var chunks):
            let range = chunks.next(in: bytes, from: &position)
            framing = chunks.isEnded ? .trailers : .chunked(chunks)
            if chunks.isBroken { return .broken }
            return range.map { .bytes($0) } ?? .more
        case .trailers: return nextTrailer(bytes, &position)
        }
    }

    private mutating func nextTrailer(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Piece {
        let end = bytes[position...].firstIndex(of: .lineFeed).map { $0 + 1 } ?? bytes.count
        line.append(contentsOf: bytes[position..<end])
        position = end
        guard line.last == .lineFeed else { return line.count > Self.lineLimit ? .broken : .more }
        var whole: [UInt8] = []
        swap(&whole, &line)
        if whole.allSatisfy({ $0 == .carriageReturn || $0 == .lineFeed }) { framing = .ended }
        return .trailer(whole)
    }
}
