internal import Curlew

/// The frames on their way to the peer.
struct FrameSender: ~Copyable {
    /// The result of a flush.
    enum Flushed {
        /// The peer takes no more at present.
        case blocked
        case flushed
        /// The same, and the close frame is out.
        case closeFlushed
        case failed(CurlewError)
    }

    private var writer: MessageWriter
    /// The bytes behind ``start`` wait; those before it were sent.
    private var output: [UInt8] = []
    private var start = 0
    /// The ping that waits to be answered: of several, the last (RFC 6455 §5.5.3).
    private var pendingPong: [UInt8]?
    /// The end of the pong in ``output`` that is not sent yet. The next pong is written when that one is sent.
    private var pongEnd: Int?
    private var pingNumber: UInt64 = 0
    private var hasClosed = false
    private var hasReportedClose = false

    /// The most memory that stays for the next message.
    private static let keptCapacity = 64 << 10

    init(_ compression: DeflateAgreement?, _ options: CurlewWebSocket.Options) {
        writer = MessageWriter(
            role: .client, compression: compression, options: options.compression ?? CurlewWebSocket.Compression())
    }

    /// The number of bytes that wait.
    var count: Int { output.count - start }
    /// True if nothing waits, a pong included.
    var isEmpty: Bool { start == output.count && pendingPong == nil }
    /// True if a fragment was written whose message is not whole.
    var isMessageOpen: Bool { writer.isMessageOpen }
    /// The memory that the bytes take.
    var capacity: Int { output.capacity }

    // MARK: Messages

    mutating func write(_ message: CurlewWebSocket.Message) throws(WebSocketViolation) {
        makeRoom()
        try writer.write(message, into: &output)
    }

    mutating func begin(_ kind: CurlewWebSocket.Message.Kind) { writer.begin(kind) }

    mutating func write(part: ArraySlice<UInt8>, isLast: Bool) throws(WebSocketViolation) {
        makeRoom()
        if isLast {
            try writer.finish(chunk: part.span.bytes, into: &output)
        } else {
            try writer.write(chunk: part.span.bytes, into: &output)
        }
    }

    /// Prepares for another frame: frees the space of sent bytes, and writes the pong that waits.
    private mutating func makeRoom() {
        removeSent()
        writePong()
    }

    /// Frees the space of the sent bytes once it is at least as large as what waits, so that each byte is moved once at most.
    private mutating func removeSent() {
        guard start >= max(Self.keptCapacity, count) else { return }
        output.removeFirst(start)
        pongEnd = pongEnd.map { $0 - start }
        start = 0
    }

    // MARK: Control frames

    /// Sends a ping with a number of its own.
    mutating func ping() -> UInt64 {
        makeRoom()
        pingNumber += 1
        writer.write(.ping(withUnsafeBytes(of: pingNumber.bigEndian) { Array($0) }), into: &output)
        return pingNumber
    }

    /// The number of the ping that a pong answers; nil if none of this end's was sent with its payload.
    func number(ofPing payload: [UInt8]) -> UInt64? {
        guard payload.count == 8 else { return nil }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        return number <= pingNumber ? number : nil
    }

    /// Answers a ping with the next flush, or with the next frame. A later ping takes its place until then.
    mutating func answer(_ payload: [UInt8]) { pendingPong = payload }

    /// Answers no ping any more.
    mutating func dropPong() { pendingPong = nil }

    /// Writes the pong that waits, unless an earlier one is still on its way: a peer that pings and does not read costs the memory of two.
    private mutating func writePong() {
        guard pongEnd == nil, let payload = pendingPong else { return }
        pendingPong = nil
        writer.write(.pong(payload), into: &output)
        pongEnd = output.count
    }

    mutating func close(_ status: CurlewWebSocket.CloseStatus) {
        makeRoom()
        hasClosed = true
        writer.write(.close(status), into: &output)
    }

    // MARK: The socket

    /// Writes as much as the peer takes.
    mutating func flush(to connection: any UpgradedConnection) -> Flushed {
        writePong()
        while start < output.count {
            let sent = output.withUnsafeBytes { connection.write(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            switch sent {
            case .bytes(let count): start += count
            case .nothing:
                removeSent()
                return .blocked
            case .failed(let error): return .failed(error)
            }
            guard let pongEnd, start >= pongEnd else { continue }
            self.pongEnd = nil
            writePong()
        }
        output.removeAll(keepingCapacity: output.capacity <= Self.keptCapacity)
        start = 0
        guard hasClosed, !hasReportedClose else { return .flushed }
        hasReportedClose = true
        return .closeFlushed
    }

    mutating func removeAll() {
        output = []
        start = 0
        pendingPong = nil
        pongEnd = nil
    }

    mutating func freeIdleMemory() {
        writer.freeIdleMemory()
        if isEmpty { removeAll() }
    }
}
