#if TestKit
/// Parses the frames of an HTTP/2 connection just enough to find the sizes of DATA (RFC 9113, section 6.1).
///
/// The scanner validates nothing: the parser behind it rejects invalid frames.
struct FrameScanner: WireScanning {
    private enum State {
        case preface(left: Int)
        case head
        case padLength(payload: Int, stream: UInt32)
        case payload(left: Int)
    }

    private var state = State.preface(left: RawConnection.http2Preface.count)
    private var head: [UInt8] = []
    private var lastStream: UInt32 = 0
    private var requests = 0
    /// The numbers of the open requests by their streams.
    private var open: [UInt32: Int] = [:]
    private var endsStream = false

    mutating func scan(_ bytes: UnsafeRawBufferPointer, into ledger: ChunkLedger) {
        var rest = bytes[...]
        while let first = rest.first {
            switch self.state {
            case .preface(let left):
                let taken = min(left, rest.count)
                rest = rest.dropFirst(taken)
                self.state = taken == left ? .head : .preface(left: left - taken)
            case .head:
                let taken = min(9 - self.head.count, rest.count)
                self.head += rest.prefix(taken)
                rest = rest.dropFirst(taken)
                if self.head.count == 9 { self.readHead(into: ledger) }
            case .padLength(let payload, let stream):
                rest = rest.dropFirst()
                self.note(payload - 1 - Int(first), stream: stream, into: ledger)
                self.skip(payload - 1)
            case .payload(let left):
                let taken = min(left, rest.count)
                rest = rest.dropFirst(taken)
                self.skip(left - taken)
            }
        }
    }

    private mutating func readHead(into ledger: ChunkLedger) {
        let length = Int(UInt32(bigEndian: self.head[0..<3]))
        let kind = HTTP2WireFrame.Kind(rawValue: self.head[3])
        let flags = HTTP2WireFrame.Flags(rawValue: self.head[4])
        let stream = UInt32(bigEndian: self.head[5..<9]) & 0x7fff_ffff
        self.head = []
        self.skip(length)
        switch kind {
        case .headers:
            if stream > self.lastStream {
                self.lastStream = stream
                self.open[stream] = self.requests
                self.requests += 1
            }
            if flags.contains(.endStream) { self.open[stream] = nil }
        case .resetStream:
            self.open[stream] = nil
        case .data:
            self.endsStream = flags.contains(.endStream)
            if flags.contains(.padded) && length > 0 {
                self.state = .padLength(payload: length, stream: stream)
            } else {
                self.note(length, stream: stream, into: ledger)
            }
        default: break
        }
    }

    private mutating func note(_ size: Int, stream: UInt32, into ledger: ChunkLedger) {
        if size > 0, let request = self.open[stream] { ledger.note(size, exchange: request) }
        if self.endsStream { self.open[stream] = nil }
    }

    private mutating func skip(_ count: Int) {
        self.state = count > 0 ? .payload(left: count) : .head
    }
}
#endif
