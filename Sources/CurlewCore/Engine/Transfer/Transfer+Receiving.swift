internal import CLibcurl
internal import CurlewPlatform
internal import HTTPTypes
internal import Synchronization

/// The response: its heads, its body, and the end of reading.
extension Transfer {
    enum Received { case taken, paused, failed }

    /// Receives one line of a head or of trailers.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard attempt.isOnCourse else { return false }
        noteActivity()
        clock.endAwaitingHead()
        attempt.watchForHeldBack(nil)
        if attempt.wire.hasStreams {
            try? easy?.showRawBody(false)
            if let connection { multi?.connections.noteHead(on: connection) }
        }
        if attempt.takeUnaskedCheck(), isUnasked {
            attempt.reject(.unaskedAnswer)
            return false
        }
        switch attempt.take(line) {
        case .nothing:
            // From the first field on, libcurl joins folded lines with a line of this exchange.
            if let easy, easy.showsHead, attempt.incoming.hasField { try? easy.showHead(false) }
            return true
        case .interim(let response): return receiveInterim(response)
        case .head(let head, let effects): return publish(head, effects)
        case .challenge(_, let effects): return perform(effects)
        case .stop: return false
        }
    }

    /// True if the response has begun before its server had a byte of the request. The first packet of a response
    /// acknowledges the received part of the request. If the request has not arrived, all its bytes are still
    /// unacknowledged.
    private var isUnasked: Bool {
        guard let easy, let open = attempt.connection?.unconfirmedBytes, open > 0 else { return false }
        let left = easy.long(CURLINFO_REQUEST_SIZE)
        return left > 0 && open >= left
    }

    private func receiveInterim(_ response: HTTPResponse) -> Bool {
        guard interimHeads.take(response, keeping: prepared.limits.interimResponses) else {
            attempt.fail(CurlewError(.invalidResponse, "more than \(InterimHeads.limit) interim responses"))
            return false
        }
        multi?.markChanged(self)
        return true
    }

    /// Publishes a challenge that libcurl has not answered.
    func publishChallenge() {
        // An error is recorded, and found where the caller looks for failures.
        if let (head, effects) = attempt.takeChallenge() { _ = publish(head, effects) }
    }

    private func publish(_ head: HTTPResponse, _ effects: Attempt.HeadEffects) -> Bool {
        guard perform(effects) else { return false }
        attempt.publish(head, effects)
        multi?.markChanged(self)
        if attempt.isAnsweredEarly { rearm() }
        return true
    }

    private func perform(_ effects: Attempt.HeadEffects) -> Bool {
        guard !effects.isEmpty, let easy else { return true }
        do {
            if effects.contains(.closesConnection) { try easy.forbidReuse(true) }
            if effects.contains(.showsRawBody) { try easy.showRawBody(true) }
            return true
        } catch {
            attempt.fail(CurlewError(ofEngine: error))
            return false
        }
    }

    /// Observes the raw bytes of a chunked body, before libcurl decodes the chunks.
    func observeRawBody(_ bytes: UnsafeRawBufferPointer) { attempt.follow(raw: bytes) }

    /// Observes libcurl's messages. libcurl reports a GOAWAY of HTTP/2 when it reads it, a stream that ends with
    /// HTTP_1_1_REQUIRED, a stream that an HTTP/3 server has rejected (H3_REQUEST_REJECTED, RFC 9114 §8.1), and its own
    /// repetition of a request. The connection is still as the server left it then: libcurl shuts it down before it
    /// opens another, and the server may close it in return.
    ///
    /// It also reports bytes behind the end of an HTTP/1.1 response. They would answer the next request if the
    /// connection were kept.
    func observeWords(_ words: UnsafeRawBufferPointer) {
        guard attempt.wire.hasStreams else { return observeExcess(words) }
        if words.contains("GOAWAY, error=") { attempt.connection?.hasGoAway = true }
        if attempt.wire == .http2, words.contains("HTTP_1_1_REQUIRED") { attempt.noteRefusal(.http11Required) }
        if attempt.wire == .http3, words.contains("refused by server") { attempt.noteRefusal(.refusedStream) }
        if words.contains("retrying a fresh connect"), isRefusedStream { attempt.noteRefusal(.refusedStream) }
    }

    private func observeExcess(_ words: UnsafeRawBufferPointer) {
        guard words.contains("Excess found") || words.contains("Leftovers after chunking") else { return }
        attempt.noteExcess()
        try? easy?.forbidReuse(true)
    }

    /// Makes libcurl report its messages until a response has begun, if only a refusal by the server would permit a
    /// repetition of the request, or if the request was repeated before. It is off while the request is sent, because
    /// libcurl then reports much.
    func listenForGoAway() {
        guard attempt.wire.hasStreams, !prepared.isIdempotent || attempt.plan.isRepetition, attempt.mayResendBody
        else { return }
        try? easy?.showRawBody(true)
    }

    /// Receives bytes of the body, after chunked coding.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Received {
        if let easy, easy.showsHead, !attempt.incoming.isHeadComplete { return lookAtHead(bytes) }
        if attempt.incoming.provisionalChallenge != nil { publishChallenge() }
        guard attempt.failure == nil, attempt.incoming.head != nil else {
            attempt.fail(CurlewError(.invalidResponse, "a body came before the end of the head"))
            return .failed
        }
        guard !attempt.pauses.contains(.suspended) else {
            attempt.pause(.reader)
            return .paused
        }
        guard stops.load(ordering: .relaxed) == 0, assembly.admits(bytes.count) else {
            attempt.pause(.reader)
            multi?.markChanged(self)
            rearm()
            return .paused
        }
        if let limiter, !limiter.admits(bytes.count, .receiving) {
            attempt.pause(.receivingRate)
            multi?.markChanged(self)
            return .paused
        }
        noteActivity()
        let left = attempt.incoming.framing.contentLength.map { $0 - receivedBodyBytes }
        wakeIfNeeded(assembly.append(bytes, left: left, keepsPrefix: keepsPrefix))
        attempt.countReceived(bytes.count)
        multi?.markChanged(self)
        if prepared.hasBody, attempt.isAnsweredEarly { rearm() }
        return .taken
    }

    /// Checks a line of the head before libcurl processes it (``Engine/joinsFreedLines``).
    private func lookAtHead(_ line: UnsafeRawBufferPointer) -> Received {
        guard attempt.incoming.isFoldedFirst(line) else { return .taken }
        attempt.fail(CurlewError(.invalidResponse, "the first field line is folded"))
        return .failed
    }

    /// Records that libcurl has stopped reading from the connection. Called from within libcurl.
    /// - Parameter isOpen: True if the peer has not closed the connection. With TLS that is unknown, because a record
    ///   may announce the end.
    func readingStopped(isOpen: @autoclosure () -> Bool) {
        guard outcome == nil, prepared.hasBody else { return }
        attempt.readingStopped(isOpen: !prepared.uri.layout.isSecure && isOpen())
        endBeforeBodyIfOver()
    }

    /// Ends the exchange, outside libcurl, if its response is whole while libcurl waits for 100 (Continue).
    func lookForAnswerWithoutPermission() {
        attempt.noteAnswerWithoutPermission()
        endBeforeBodyIfOver()
    }

    private func endBeforeBodyIfOver() {
        guard attempt.isOverBeforeBody else { return }
        let plan = attempt.plan
        core.execute { [weak self] in self?.endBeforeBody(plan) }
    }

    private func endBeforeBody(_ plan: Attempt.Plan) {
        guard outcome == nil, attempt.plan == plan, attempt.isOverBeforeBody else { return }
        settle(attempt.outcomeBeforeBody())
    }

    /// True if the beginning of the body may be part of an error.
    var keepsPrefix: Bool { attempt.incoming.head != nil && attempt.incoming.status >= 300 }

    /// Wakes the transfer after a reader that took a chunk at once has made room.
    func wakeIfNeeded(_ isNeeded: Bool) {
        // The command is delayed, because this may be inside one of libcurl's callbacks.
        if isNeeded { core.send(.readOn, to: self) }
    }
}

extension UnsafeRawBufferPointer {
    /// True if the bytes contain a text of ASCII characters.
    fileprivate func contains(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard let baseAddress, count >= length else { return false }
        let first = text.utf8Start.pointee
        return (0...count - length).contains { start in
            self[start] == first && memcmp(baseAddress + start, text.utf8Start, length) == 0
        }
    }
}
