internal import CLibcurl
internal import COpenSSL
internal import HTTPTypes

extension Transfer {
    enum Received { case taken, paused, failed }

    /// One line of a head or of trailers.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard failure == nil, refusal == nil else { return false }
        noteActivity()
        switch parser.take(line) {
        case .more: return true
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
            if parser.framing.isAmbiguous { try easy?.forbidReuse(true) }
            if parser.framing.isChunked, !isLate, Engine.versionNumber < 0x080700 {
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
        if filling.isEmpty { beginFilling(bytes.count) }
        filling.append(contentsOf: bytes)
        receivedBody += Int64(bytes.count)
        if filling.count + Int(CURL_MAX_WRITE_SIZE) > filling.capacity { flushFilling() }
        multi.touch(self)
        return .taken
    }

    private func beginFilling(_ count: Int) {
        let capacity = fillingCapacity(for: count)
        if capacity >= BodyChannel.smallestRecycled { filling = channel.takeSpare(for: capacity) }
        filling.reserveCapacity(capacity)
    }

    /// libcurl hands bodies over in pieces of 16 KiB. A long body is gathered into ever larger chunks, within a turn of the
    /// loop and up to half of what may be buffered, so that its reader is woken less often.
    private func fillingCapacity(for count: Int) -> Int {
        guard count >= Int(CURL_MAX_WRITE_SIZE) || receivedBody > 0 else { return count }
        let most = min(256 << 10, request.bodyBufferSize / 2)
        var chunk = max(count, min(most, max(64 << 10, Int(clamping: receivedBody))))
        if let length = parser.framing.contentLength {
            chunk = min(chunk, Int(clamping: max(Int64(count), length - receivedBody)))
        }
        return chunk + Int(CURL_MAX_WRITE_SIZE)
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
