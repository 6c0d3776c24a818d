#if TestKit
/// Parses the requests of an HTTP/1.1 connection just enough to find the sizes of chunks (RFC 9112, section 7.1).
///
/// The scanner validates nothing: the parser behind it rejects invalid requests.
struct ChunkScanner: WireScanning {
    private enum State {
        case head
        case size
        case data(left: Int)
        case dataEnd
        case trailers
        case content(left: Int)
        case lost
    }

    /// The limit of a line: larger than any line that NIO's parser accepts.
    private static let lineLimit = 128 << 10

    private var state = State.head
    private var line: [UInt8] = []
    private var request = 0
    private var hasStartLine = false
    private var isChunked = false
    private var contentLength = 0

    mutating func scan(_ bytes: UnsafeRawBufferPointer, into ledger: ChunkLedger) {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch self.state {
            case .lost: return
            case .data(let left):
                let taken = min(left, rest.count)
                rest = rest.dropFirst(taken)
                self.state = taken == left ? .dataEnd : .data(left: left - taken)
            case .content(let left):
                let taken = min(left, rest.count)
                rest = rest.dropFirst(taken)
                if taken == left { self.endRequest() } else { self.state = .content(left: left - taken) }
            case .head, .size, .dataEnd, .trailers:
                guard let line = self.takeLine(&rest) else { return }
                self.read(line, into: ledger)
            }
        }
    }

    /// The next complete line without its terminator; `nil` if its end has not arrived.
    private mutating func takeLine(_ rest: inout Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
        let end = rest.firstIndex(of: UInt8(ascii: "\n"))
        self.line += rest[..<(end ?? rest.endIndex)]
        rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
        if self.line.count > Self.lineLimit { self.state = .lost }
        guard end != nil else { return nil }
        defer { self.line = [] }
        return self.line.last == UInt8(ascii: "\r") ? self.line.dropLast() : self.line
    }

    private mutating func read(_ line: [UInt8], into ledger: ChunkLedger) {
        switch self.state {
        case .head where line.isEmpty:
            if self.hasStartLine { self.endHead() }
        case .head where !self.hasStartLine:
            self.hasStartLine = true
        case .head:
            self.readField(String(decoding: line, as: UTF8.self).lowercased())
        case .size:
            let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else {
                return self.state = .lost
            }
            if size > 0 { ledger.note(size, exchange: self.request) }
            self.state = size == 0 ? .trailers : .data(left: size)
        case .dataEnd:
            self.state = line.isEmpty ? .size : .lost
        case .trailers:
            if line.isEmpty { self.endRequest() }
        case .data, .content, .lost:
            break
        }
    }

    private mutating func readField(_ line: String) {
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        switch line[..<colon] {
        case "transfer-encoding": self.isChunked = value.contains("chunked")
        case "content-length": self.contentLength = Int(value.prefix { $0.isNumber }) ?? 0
        default: break
        }
    }

    private mutating func endHead() {
        if self.isChunked {
            self.state = .size
        } else if self.contentLength > 0 {
            self.state = .content(left: self.contentLength)
        } else {
            self.endRequest()
        }
    }

    private mutating func endRequest() {
        self.state = .head
        self.request += 1
        self.hasStartLine = false
        self.isChunked = false
        self.contentLength = 0
    }
}
#endif
