internal import Glibc

/// A connection at the server. The only part of HTTP that it understands is the end of a request.
final class WireConnection {
    /// The identity of a request.
    struct CurlewRequest {
        /// The stream; 0 except over HTTP/2.
        var stream: UInt32 = 0
        var number: Int?
    }

    let descriptor: Int32
    let isHonest: Bool
    private let speaksHTTP2: Bool
    private(set) var isClosed = false
    private var received: [UInt8] = []
    private var isPrefaceRead = false
    /// The numbers of the requests on this connection's streams.
    private var numbers: [UInt32: Int] = [:]

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let endOfHead = Array("\r\n\r\n".utf8)
    private enum Kind { static let headers: UInt8 = 1, settings: UInt8 = 4, ping: UInt8 = 6 }
    private static let sending = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
    private static let acknowledgement: UInt8 = 1

    init(_ descriptor: Int32, isHonest: Bool, speaksHTTP2: Bool) {
        self.descriptor = descriptor
        self.isHonest = isHonest
        self.speaksHTTP2 = speaksHTTP2
    }

    // MARK: Receiving

    /// Receives bytes, and answers each request that begins in them.
    func receive(_ answer: (CurlewRequest) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { close() }
            return
        }
        received += buffer[..<count]
        if speaksHTTP2 { receiveFrames(answer) } else { receiveHeads(answer) }
    }

    /// Answers each head. No request body contains an empty line, so each empty line ends a head.
    private func receiveHeads(_ answer: (CurlewRequest) -> Void) {
        while !isClosed, let end = end(of: Self.endOfHead) {
            let head = received[..<end]
            received.removeFirst(end)
            answer(CurlewRequest(number: Stamp.number(in: head)))
        }
        received = Array(received.suffix(1 << 16))
    }

    private func end(of word: [UInt8]) -> Int? {
        guard received.count >= word.count else { return nil }
        return (0...received.count - word.count).first { received[$0..<$0 + word.count].elementsEqual(word) }
            .map { $0 + word.count }
    }

    private func receiveFrames(_ answer: (CurlewRequest) -> Void) {
        if !isPrefaceRead {
            guard received.count >= Self.preface.count else { return }
            received.removeFirst(Self.preface.count)
            isPrefaceRead = true
            send(WireFrame.head(kind: Kind.settings))
        }
        while !isClosed, received.count >= 9 {
            let length = received[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard received.count >= 9 + length else { return }
            let (kind, flags) = (received[3], received[4])
            let stream = received[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            let payload = received[9..<9 + length]
            received.removeFirst(9 + length)
            switch kind {
            case Kind.headers:
                numbers[stream] = Stamp.number(in: payload)
                answer(CurlewRequest(stream: stream, number: numbers[stream]))
            case Kind.settings, Kind.ping:
                guard flags & Self.acknowledgement == 0 else { break }
                let echo = kind == Kind.ping ? Array(payload) : []
                send(WireFrame.head(kind: kind, flags: Self.acknowledgement, length: echo.count) + echo)
            default: break
            }
        }
    }

    // MARK: Sending

    /// The wire format of an answer.
    func encode(_ answer: [UInt8], for request: CurlewRequest) -> [UInt8] {
        guard speaksHTTP2 else {
            var answer = answer
            if let number = request.number { Stamp.put(number, into: &answer) }
            return answer
        }
        return pieces(of: answer, at: WireFrame.separator).flatMap { frame in
            WireFrame(frame).bytes(stream: request.stream) { numbers[$0] }
        }
    }

    /// Sends bytes. Bytes that the socket does not accept at once are lost, but no input is long enough for that.
    func send(_ bytes: [UInt8], pieceSize: Int = .max) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(pieceSize)
            rest = rest[piece.endIndex...]
            let count = piece.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Self.sending) }
            guard count == piece.count else { return }
        }
    }

    /// Closes the socket after reading pending bytes: unread bytes would cause a reset, and the peer would lose the end
    /// of the answer.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        Glibc.close(descriptor)
    }

    func reset() {
        guard !isClosed else { return }
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        close()
    }
}
