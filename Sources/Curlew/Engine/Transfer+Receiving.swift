internal import CLibcurl
internal import COpenSSL
internal import HTTPTypes

extension Transfer {
    enum Received { case taken, paused, failed }

    /// One line of a head or of trailers.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil, refusal == nil else { return false }
        noteActivity()
        if mayBeUnasked {
            mayBeUnasked = false
            guard !isUnasked else {
                refusal = .unaskedAnswer
                return false
            }
        }
        if firstAnswerDeadline != nil || isFirstAnswerSlow { firstAnswerCame() }
        switch parser.take(line) {
        case .more:
            // From the first field on, what libcurl joins a line to is of this exchange.
            if let easy, easy.showsHead, parser.hasField { try? easy.showHead(false) }
            return true
        case .interim(let response): return receiveInterim(response)
        case .head(let response): return receiveHead(response)
        case .trailers(let fields):
            trailers = fields
            return true
        case .invalid(let code, let message):
            failure = CurlewError(code, message)
            return false
        }
    }

    /// Whether the answer has begun before its server had a byte of the request. The system learns with the first packet of
    /// an answer what of the request has arrived; then as much of it is open as has left.
    private var isUnasked: Bool {
        guard sentBody == 0, let easy, let open = connection?.unconfirmedBytes, open > 0 else { return false }
        let left = easy.long(CURLINFO_REQUEST_SIZE)
        return left > 0 && open >= left
    }

    private func receiveInterim(_ response: HTTPResponse) -> Bool {
        interimCount += 1
        guard interimCount <= 100 else {
            failure = CurlewError(.invalidResponse, "more than 100 interim responses")
            return false
        }
        if interim.count < request.limits.interimResponses { interim.append(response) }
        multi.touch(self)
        return true
    }

    private func receiveHead(_ response: HTTPResponse) -> Bool {
        guard (parser.version == .http2) == isHTTP2Agreed else {
            failure = CurlewError(.invalidResponse, "the answer claims \(parser.version), which was not agreed on")
            return false
        }
        if parser.status == 417, request.expectContinue != nil, !attempt.isUnexpecting, sentBody == 0 {
            refusal = .expectation
            return false
        }
        if parser.status == 421, !attempt.isFresh, !hasSource || request.body.isReplayable {
            refusal = .misdirected
            return false
        }
        guard !parser.framing.isAmbiguous || forbidReuse() else { return false }
        if isAnsweredByEngine(parser.status) {
            heldHead = response
            return true
        }
        return acceptHead(response)
    }

    /// - Parameter isLate: Whether bytes of the body may have passed already.
    func acceptHead(_ response: HTTPResponse, isLate: Bool = false) -> Bool {
        do {
            // An answer before the body was sent: unless the rest of it still goes out, the connection is out of step.
            if request.hasBody, !isBodySent, parser.version != .http2 { try easy?.forbidReuse(true) }
            if parser.framing.isChunked, !isLate, Engine.showsRawBody {
                chunkFraming = ChunkFraming()
                try easy?.showRawBody(true)
            }
        } catch {
            failure = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
            return false
        }
        if request.version == .http2PriorKnowledge, multi.joinable.count < 1000 {
            multi.joinable.insert(request.uri.authority)
        }
        stage = .receiving
        head = response
        multi.touch(self)
        return true
    }

    /// Sees to it that the connection is closed after the exchange.
    private func forbidReuse() -> Bool {
        do {
            try easy?.forbidReuse(true)
            return true
        } catch {
            failure = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
            return false
        }
    }

    /// The raw bytes of a chunked body, before libcurl takes the chunks apart.
    func observeRawBody(_ bytes: UnsafeRawBufferPointer) {
        guard head != nil, failure == nil else { return }
        chunkFraming?.follow(bytes)
        if chunkFraming?.isBroken == true {
            failure = CurlewError(.invalidResponse, "the chunked coding of the body is broken")
        }
    }

    /// Bytes of the body, after chunked coding.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Received {
        if let easy, easy.showsHead, !parser.isComplete { return lookAtHead(bytes) }
        if heldHead != nil { publishHeldHead() }
        guard failure == nil, head != nil else {
            failure = failure ?? CurlewError(.invalidResponse, "a body came before the end of the head")
            return .failed
        }
        guard !holds.contains(.suspended) else {
            holds.insert(.reader)
            return .paused
        }
        guard channel.admits(bytes.count, pending: filling.count) else {
            holds.insert(.reader)
            multi.touch(self)
            rearm()
            return .paused
        }
        guard isPaceKept(receiving: bytes.count) else {
            multi.touch(self)
            return .paused
        }
        noteActivity()
        if !filling.isEmpty, filling.count + bytes.count > filling.capacity {
            fillingSize = min(largestFilling, max(4096, 4 * filling.capacity))
            flushFilling()
        }
        if filling.isEmpty { beginFilling(bytes.count) }
        filling.append(contentsOf: bytes)
        receivedBody += Int64(bytes.count)
        multi.touch(self)
        return .taken
    }

    /// A line of the head, before libcurl does anything with it (``Engine/joinsFreedLines``).
    private func lookAtHead(_ line: UnsafeRawBufferPointer) -> Received {
        guard parser.isFoldedFirst(line) else { return .taken }
        failure = failure ?? CurlewError(.invalidResponse, "the first field line is folded")
        return .failed
    }

    private func beginFilling(_ count: Int) {
        let capacity = fillingCapacity(for: count)
        if capacity >= BodyChannel.smallestRecycled { filling = channel.takeSpare(for: capacity) }
        filling.reserveCapacity(capacity)
    }

    /// libcurl hands bodies over in pieces of 16 KiB. What comes within a turn of the loop is gathered, so that its reader is
    /// woken less often: into chunks that grow as long as they are filled, and shrink when less comes than they have room
    /// for. A peer that sends little at a time so takes up little.
    private func fillingCapacity(for count: Int) -> Int {
        var size = max(count, fillingSize)
        if count >= Int(CURL_MAX_WRITE_SIZE) { size = max(size, min(64 << 10, largestFilling)) }
        guard let length = parser.framing.contentLength else { return size }
        return min(size, Int(clamping: max(Int64(count), length - receivedBody)))
    }

    private var largestFilling: Int { min(256 << 10, request.bodyBufferSize / 2) }

    /// Hands over what was gathered in this turn.
    func endFilling() {
        guard !filling.isEmpty else { return }
        if filling.count < fillingSize / 4 { fillingSize = 2 * filling.count }
        flushFilling()
    }

    func flushFilling() {
        guard !filling.isEmpty else { return }
        if bodyPrefix.isEmpty, head != nil, parser.status >= 300 {
            bodyPrefix = Array(filling.prefix(CurlewError.bodyPrefixLimit))
        }
        var chunk: [UInt8] = []
        swap(&chunk, &filling)
        // Not at once: this may be inside one of libcurl's callbacks.
        if channel.append(consume chunk) { multi.core.execute { self.readerMadeRoom() } }
    }
}
