internal import CLibcurl
internal import HTTPTypes

/// The exchange of a request that asks for an upgrade. It sends the request and reads the response over a connection
/// that libcurl has opened.
///
/// After a 101 the connection belongs to ``UpgradedConnection``. Any other response is read with its body. Lines and
/// bytes pass the same checks as those from libcurl. Not `Sendable`: it never leaves its loop's thread.
final class UpgradeExchange: EngineSocketOwner {
    private enum Phase {
        case head
        case body(UpgradeBody)
        case upgraded
        case ended
    }

    private unowned let transfer: Transfer
    private let core: LoopCore
    private var madeSocket: EngineSocket?
    private var phase = Phase.head
    private var outgoing: [UInt8]
    private var written = 0
    /// The incomplete line of the head or of the trailers.
    private var line: [UInt8] = []
    /// The read bytes that wait for the reader of a body, or for the user of an upgraded connection.
    private var rest: [UInt8] = []
    private var restStart = 0
    /// True if the loop resumes reading without an event of the socket.
    private var isReadingScheduled = false

    /// The user of the upgraded connection.
    weak var user: (any UpgradedConnectionUser)?
    private(set) var figures: Figures
    /// The value of the field that gets new random bytes for each connection; nil without such a field.
    let nonce: String?

    /// The figures of the exchange that libcurl does not know.
    struct Figures {
        let start: Instant
        var sentHeadBytes = 0
        var receivedHeadBytes = 0
        var firstByte: Instant?
    }

    /// The maximum number of reads in a turn of the loop.
    private static let turnLimit = 16

    init(_ transfer: Transfer, _ request: UpgradeRequest) {
        self.transfer = transfer
        core = transfer.core
        (outgoing, nonce) = request.head()
        figures = Figures(start: core.now)
    }

    /// Sends the request.
    func begin(_ easy: EasyHandle, _ connection: Connection) {
        let socket = EngineSocket(easy, connection, isEncrypted: transfer.prepared.usesTLS, owner: self)
        madeSocket = socket
        flush(socket)
    }

    private var socket: EngineSocket? {
        if case .ended = phase { return nil }
        return madeSocket
    }

    /// Ends the exchange and the use of the socket.
    func end() {
        phase = .ended
        madeSocket?.end()
        rest = []
        outgoing = []
    }

    // MARK: The request

    private func flush(_ socket: EngineSocket) {
        while written < outgoing.count {
            switch outgoing.withUnsafeBytes({ socket.write(UnsafeRawBufferPointer(rebasing: $0[written...])) }) {
            case .bytes(let count):
                written += count
                figures.sentHeadBytes = written
                transfer.noteActivity()
            case .nothing: return socket.watch(reading: true, writing: true)
            case .failed(let code):
                // libcurl may have closed the connection before it was used for the first time.
                return written == 0 ? transfer.upgradeIsLost(code) : transfer.upgradeEnds(code)
            }
        }
        outgoing = []
        written = 0
        updateWatch(socket)
    }

    private func updateWatch(_ socket: EngineSocket) {
        switch phase {
        case .head, .body: socket.watch(reading: !transfer.isHeldBack, writing: written < outgoing.count)
        case .upgraded, .ended: break
        }
    }

    // MARK: The socket

    func socketIsReady(canRead: Bool, canWrite: Bool) {
        guard let socket else { return }
        if case .upgraded = phase {
            user?.connectionIsReady()
            return
        }
        if canWrite, !outgoing.isEmpty { flush(socket) }
        if canRead { readOn() }
    }

    func socketFailed(_ error: CurlewError) {
        guard socket != nil else { return }
        core.execute { [weak transfer] in transfer?.fail(error) }
    }

    /// Reads the response until the socket is empty or reading is paused.
    private func readOn() {
        var turns = 0
        while let socket, !isUpgraded, !transfer.isHeldBack {
            guard turns < Self.turnLimit else { return scheduleReading() }
            turns += 1
            switch socket.read(into: core.receiveSpace.bytes) {
            case .bytes(let count):
                if figures.firstByte == nil { figures.firstByte = core.now }
                take(UnsafeRawBufferPointer(rebasing: core.receiveSpace.bytes[..<count]))
            case .nothing: return
            case .end: return answerEnds()
            case .failed(let code): return transfer.upgradeEnds(code)
            }
        }
    }

    private func scheduleReading() {
        guard !isReadingScheduled else { return }
        isReadingScheduled = true
        core.execute { [weak transfer] in transfer?.upgrade?.readScheduled() }
    }

    fileprivate func readScheduled() {
        isReadingScheduled = false
        readOn()
    }

    // MARK: The response

    private func take(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while position < bytes.count {
            switch phase {
            case .head: takeLine(bytes, &position)
            case .body:
                guard takeBody(bytes, &position) else { return keep(bytes, from: position) }
            case .upgraded: return keep(bytes, from: position)
            case .ended: return
            }
        }
    }

    private func keep(_ bytes: UnsafeRawBufferPointer, from position: Int) {
        if case .ended = phase { return }
        rest.append(contentsOf: bytes[position...])
    }

    /// Takes the received bytes of a line of the head or of the trailers.
    private func takeLine(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) {
        let end = bytes[position...].firstIndex(of: .lineFeed).map { $0 + 1 } ?? bytes.count
        let isWhole = end > position && bytes[end - 1] == .lineFeed
        defer { position = end }
        line.append(contentsOf: bytes[position..<end])
        // A line without an end is refused because of its size.
        guard isWhole || line.count > transfer.prepared.limits.headSize.bytes else { return }
        var whole: [UInt8] = []
        swap(&whole, &line)
        figures.receivedHeadBytes += whole.count
        guard whole.withUnsafeBytes({ transfer.receiveHeader($0) }) else {
            return transfer.upgradeEnds(CURLE_WRITE_ERROR)
        }
        if transfer.attempt.incoming.isHeadComplete { headIsComplete() }
    }

    private func headIsComplete() {
        guard let socket else { return }
        transfer.publishChallenge()
        let incoming = transfer.attempt.incoming
        guard incoming.status != 101 else {
            guard outgoing.isEmpty else {
                transfer.attempt.fail(
                    CurlewError(.invalidResponse, "the server switched protocols before it had the complete request"))
                return transfer.upgradeEnds(CURLE_WRITE_ERROR)
            }
            phase = .upgraded
            socket.watch(reading: false, writing: false)
            return transfer.isUpgradedNow()
        }
        let body = UpgradeBody(incoming, method: transfer.prepared.method)
        phase = .body(body)
        if body.isEnded { transfer.upgradeEnds(nil) }
    }

    /// Takes bytes of the body.
    /// - Returns: False if reading is paused or the exchange has ended.
    private func takeBody(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> Bool {
        guard case .body(var body) = phase else { return false }
        let before = body
        let start = position
        switch body.next(in: bytes, from: &position) {
        case .bytes(let range):
            phase = .body(body)
            switch transfer.receiveBody(UnsafeRawBufferPointer(rebasing: bytes[range])) {
            case .taken: break
            case .paused:
                // The bytes stay in the buffer until the body continues.
                phase = .body(before)
                position = start
                return false
            case .failed:
                transfer.upgradeEnds(CURLE_WRITE_ERROR)
                return false
            }
        case .trailer(let line):
            phase = .body(body)
            guard line.withUnsafeBytes({ transfer.receiveHeader($0) }) else {
                transfer.upgradeEnds(CURLE_WRITE_ERROR)
                return false
            }
        case .more: phase = .body(body)
        case .broken:
            transfer.attempt.fail(CurlewError(.invalidResponse, "the chunked coding of the body is broken"))
            transfer.upgradeEnds(CURLE_WRITE_ERROR)
            return false
        }
        guard body.isEnded else { return true }
        transfer.upgradeEnds(nil)
        return false
    }

    /// Handles the end of the connection by the peer.
    private func answerEnds() {
        guard case .body(let body) = phase, !body.endsWithConnection else { return transfer.upgradeEnds(nil) }
        transfer.upgradeEnds(CURLE_PARTIAL_FILE)
    }

    /// Pauses or resumes reading after the reasons for a pause have changed.
    func pausesChanged() {
        guard let socket, !isUpgraded else { return }
        updateWatch(socket)
        guard !transfer.isHeldBack else { return }
        if !rest.isEmpty {
            var bytes: [UInt8] = []
            swap(&bytes, &rest)
            bytes.withUnsafeBytes { take($0) }
        }
        readOn()
    }

    // MARK: The upgraded connection

    var isUpgraded: Bool { if case .upgraded = phase { true } else { false } }

    func read(into space: UnsafeMutableRawBufferPointer) -> EngineSocket.Received {
        guard restStart == rest.count else {
            let count = min(space.count, rest.count - restStart)
            space.copyBytes(from: rest[restStart..<restStart + count])
            restStart += count
            if restStart == rest.count {
                rest = []
                restStart = 0
            }
            return .bytes(count)
        }
        return socket?.read(into: space) ?? .end
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> EngineSocket.Sent {
        socket?.write(bytes) ?? .failed(CURLE_SEND_ERROR)
    }

    func shutDownOutput() { socket?.shutDownOutput() }

    func watch(reading: Bool, writing: Bool) { socket?.watch(reading: reading, writing: writing) }
}
