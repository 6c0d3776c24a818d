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
    private var output: [UInt8] = []
    private var start = 0
    /// The ping that waits to be answered: of several, the last (RFC 6455 §5.5.3).
    private var pendingPong: [UInt8]?
    private var pingNumber: UInt64 = 0
    private var hasClosed = false
    private var hasReportedClose = false

    /// The most memory that stays for the next message.
    private static let keptCapacity = 64 << 10

    init(_ compression: DeflateAgreement?, _ options: CurlewWebSocket.Options) {
        writer = MessageWriter(
            role: .client, compression: compression, options: options.compression ?? CurlewWebSocket.Compression())
    }

    /// The bytes that wait.
    var count: Int { output.count - start }
    var isEmpty: Bool { start == output.count }

    // MARK: Messages

    mutating func write(_ message: CurlewWebSocket.Message) throws(WebSocketViolation) {
        try writer.write(message, into: &output)
    }

    mutating func begin(_ kind: CurlewWebSocket.Message.Kind) { writer.begin(kind) }

    mutating func write(part: ArraySlice<UInt8>, isLast: Bool) throws(WebSocketViolation) {
        if isLast {
            try writer.finish(chunk: part.span.bytes, into: &output)
        } else {
            try writer.write(chunk: part.span.bytes, into: &output)
        }
    }

    // MARK: Control frames

    /// Sends a ping with a number of its own.
    mutating func ping() -> UInt64 {
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

    /// Answers a ping: at once, or with the next frames if the peer does not read.
    mutating func answer(_ payload: [UInt8], ifOpen isOpen: Bool) {
        guard isOpen else { return }
        if isEmpty { writer.write(.pong(payload), into: &output) } else { pendingPong = payload }
    }

    mutating func close(_ status: CurlewWebSocket.CloseStatus) {
        pendingPong = nil
        hasClosed = true
        writer.write(.close(status), into: &output)
    }

    // MARK: The socket

    /// Writes as much as the peer takes.
    mutating func flush(to connection: any UpgradedConnection) -> Flushed {
        while true {
            while start < output.count {
                let sent = output.withUnsafeBytes { connection.write(UnsafeRawBufferPointer(rebasing: $0[start...])) }
                switch sent {
                case .bytes(let count): start += count
                case .nothing: return .blocked
                case .failed(let error): return .failed(error)
                }
            }
            output.removeAll(keepingCapacity: output.capacity <= Self.keptCapacity)
            start = 0
            guard let payload = pendingPong else { break }
            pendingPong = nil
            writer.write(.pong(payload), into: &output)
        }
        guard hasClosed, !hasReportedClose else { return .flushed }
        hasReportedClose = true
        return .closeFlushed
    }

    mutating func removeAll() {
        output = []
        start = 0
        pendingPong = nil
    }

    mutating func freeIdleMemory() {
        writer.freeIdleMemory()
        if isEmpty { removeAll() }
    }
}
