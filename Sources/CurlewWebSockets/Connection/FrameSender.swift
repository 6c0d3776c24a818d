internal import Curlew

/// The buffer of the frames that are sent to the peer.
struct FrameSender: ~Copyable {
    /// The result of a flush.
    enum Flushed {
        /// The socket accepts no bytes at present.
        case blocked
        case flushed
        /// All bytes, including the close frame, were sent.
        case closeFlushed
        case failed(CurlewError)
    }

    private var writer: MessageWriter
    /// The buffered bytes. The bytes before ``start`` were sent.
    private var output: [UInt8] = []
    private var start = 0
    /// The payload of the newest ping that is not answered (RFC 6455 §5.5.3).
    private var pendingPong: [UInt8]?
    /// The end of the unsent pong in ``output``. The next pong is written after that one is sent.
    private var pongEnd: Int?
    private var pingNumber: UInt64 = 0
    private var hasClosed = false
    private var hasReportedClose = false

    /// The messages that tasks hand over.
    let outbox: MessageOutbox
    /// An empty array whose capacity the outbox uses again.
    private var spareMessages: [CurlewWebSocket.Message] = []
    /// True if tasks may hand messages over. A compressed message may fail, so its sender waits for it.
    private let usesOutbox: Bool
    private var isOutboxOpen = false
    /// True from ``open()`` to the end of sending.
    private var isSending = false
    /// True while a sender has its turn. During a turn no message is handed over.
    var isTurnTaken = false {
        didSet { updateOutbox() }
    }

    /// The messages that were completely written.
    private(set) var sentMessages = 0
    /// The bytes of the messages that were written.
    private(set) var sentBytes: Int64 = 0

    /// The maximum capacity that is kept for the next message.
    private static let keptCapacity = 64 << 10

    init(_ compression: DeflateAgreement?, _ options: CurlewWebSocket.Options) {
        writer = MessageWriter(
            role: .client, compression: compression, options: options.compression ?? CurlewWebSocket.Compression())
        outbox = MessageOutbox(limit: options.sendBufferSize.bytes)
        usesOutbox = compression == nil
    }

    /// Accepts messages from now on.
    mutating func open() {
        isSending = true
        updateOutbox()
    }

    /// The number of unsent bytes.
    var count: Int { output.count - start }
    /// True if no byte and no pong is unsent.
    var isEmpty: Bool { start == output.count && pendingPong == nil }
    /// True if a fragment of an unfinished message was written.
    var isMessageOpen: Bool { writer.isMessageOpen }
    /// The capacity of the buffer, in bytes.
    var capacity: Int { output.capacity }

    // MARK: Messages

    mutating func write(_ message: CurlewWebSocket.Message) throws(WebSocketViolation) {
        makeRoom()
        try writer.write(message, into: &output)
        sentMessages += 1
        sentBytes += Int64(message.size)
    }

    mutating func begin(_ kind: CurlewWebSocket.Message.Kind) { writer.begin(kind) }

    mutating func write(part: ArraySlice<UInt8>, isLast: Bool) throws(WebSocketViolation) {
        makeRoom()
        if isLast {
            try writer.finish(chunk: part.span.bytes, into: &output)
            sentMessages += 1
        } else {
            try writer.write(chunk: part.span.bytes, into: &output)
        }
        sentBytes += Int64(part.count)
    }

    /// Writes the messages that were handed over.
    /// - Returns: False for no message.
    @discardableResult
    mutating func writeOutbox() -> Bool {
        guard usesOutbox else { return false }
        outbox.takeMessages(with: &spareMessages)
        guard !spareMessages.isEmpty else { return false }
        isOutboxOpen = false
        for message in spareMessages {
            // Only compression fails.
            try? write(message)
        }
        spareMessages.removeAll(keepingCapacity: true)
        return true
    }

    /// Opens the outbox while a message would be sent at once, and closes it otherwise.
    private mutating func updateOutbox() {
        let isOpen = usesOutbox && isSending && !isTurnTaken && isEmpty
        guard isOpen != isOutboxOpen else { return }
        isOutboxOpen = isOpen
        outbox.setOpen(isOpen)
    }

    /// Prepares for another frame: frees the space of sent bytes, and writes the pending pong.
    private mutating func makeRoom() {
        removeSent()
        writePong()
    }

    /// Frees the space of the sent bytes once it is at least as large as the unsent bytes. Each byte is therefore moved
    /// at most once.
    private mutating func removeSent() {
        guard start >= max(Self.keptCapacity, count) else { return }
        output.removeFirst(start)
        pongEnd = pongEnd.map { $0 - start }
        start = 0
    }

    // MARK: Control frames

    /// Writes a ping with a new number as its payload.
    mutating func ping() -> UInt64 {
        makeRoom()
        pingNumber += 1
        writer.write(.ping(withUnsafeBytes(of: pingNumber.bigEndian) { Array($0) }), into: &output)
        return pingNumber
    }

    /// The number of the ping that a pong answers; nil if no ping with its payload was sent.
    func number(ofPing payload: [UInt8]) -> UInt64? {
        guard payload.count == 8 else { return nil }
        let number = payload.reduce(0) { $0 << 8 | UInt64($1) }
        return number <= pingNumber ? number : nil
    }

    /// Answers a ping with the next flush or the next frame. A later ping replaces it until then.
    mutating func answer(_ payload: [UInt8]) { pendingPong = payload }

    /// Discards the pending pong.
    mutating func dropPong() { pendingPong = nil }

    /// Writes the pending pong, unless an earlier pong is unsent. A peer that sends pings and does not read thus takes
    /// the memory of two pongs.
    private mutating func writePong() {
        guard pongEnd == nil, let payload = pendingPong else { return }
        pendingPong = nil
        writer.write(.pong(payload), into: &output)
        pongEnd = output.count
    }

    /// Writes the close frame after the messages that were handed over.
    mutating func close(_ status: CurlewWebSocket.CloseStatus) {
        isSending = false
        updateOutbox()
        writeOutbox()
        makeRoom()
        hasClosed = true
        writer.write(.close(status), into: &output)
    }

    // MARK: The socket

    /// Writes as many bytes as the socket accepts.
    mutating func flush(to connection: any UpgradedConnection) -> Flushed {
        defer { updateOutbox() }
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

    /// Ends sending.
    mutating func removeAll() {
        isSending = false
        outbox.removeAll()
        output = []
        start = 0
        pendingPong = nil
        pongEnd = nil
    }

    mutating func freeIdleMemory() {
        writer.freeIdleMemory()
        spareMessages = []
        if isEmpty { output = [] }
    }
}
