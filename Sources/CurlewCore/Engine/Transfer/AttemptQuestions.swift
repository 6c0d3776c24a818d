/// Queries of an attempt.
extension Attempt {
    // MARK: Repetition

    /// True if the body can be sent from its start.
    var mayResendBody: Bool { !outgoing.hasSource || request.body.isReplayable }

    /// True if another attempt may replace one on a connection that permits no stream.
    var mayLeaveHeldBack: Bool { isOnCourse && stage == .exchanging && plan.number < Self.limit && mayResendBody }

    /// True if libcurl has not used a kept connection, which is still open.
    func hasLeftUntouched(_ connection: Connection) -> Bool {
        stage == .connecting && isReused && !connection.isClosed && connection.isOpen
    }

    /// The reason why libcurl may not repeat the request with credentials; nil if it may.
    var obstacleToRepetition: CurlewError? {
        guard mayResendBody else {
            let reason = "the credentials were required after the body, which can be read only once"
            return CurlewError(.bodyNotReplayable, reason)
        }
        // libcurl would send the chunks with HTTP/1.0, and their recipient would not know the coding.
        guard incoming.version == .http10, request.hasBody, request.contentLength == nil else { return nil }
        return CurlewError(.unsupported, "a body without a length cannot be sent with HTTP/1.0")
    }

    // MARK: The end of the request

    /// True if no other request may use the connection after this response. Later bytes cannot be trusted after an
    /// ambiguous head or after bytes behind the end (RFC 9112 §6.3). After HTTP/1.0 libcurl would use this version too,
    /// even for chunks (§6.1).
    var spoilsConnection: Bool {
        incoming.framing.isAmbiguous || incoming.hasExcess || incoming.version == .http10
    }

    /// True if libcurl may drop bytes behind the end of the response, and keep the connection. It does so behind the
    /// last chunk, and with ``Engine/dropsExcess`` behind a head without a body.
    var mayHideExcess: Bool {
        guard !incoming.version.hasStreams, request.upgrade == nil else { return false }
        return incoming.framing.isChunked
            || (Engine.dropsExcess && incoming.expectedBodyBytes(method: request.method) == 0)
    }

    /// True if a connection may be kept after all. It was to be closed because the response came before the body, but
    /// both directions have now completed normally.
    var isInOrderAgain: Bool {
        outgoing.isSent && incoming.head != nil && request.engineCredential == nil && !spoilsConnection
            && !request.closesConnection
    }

    /// True if the end of the response can end an exchange whose body was not sent.
    var mayEndBeforeBody: Bool {
        pauses.isDisjoint(with: .receiving) && request.hasBody && !outgoing.isSent && failure == nil
            && incoming.head != nil && incoming.provisionalChallenge == nil && !incoming.version.hasStreams
    }

    /// True if the response may have ended before the request, so that the end of the request ends the stream.
    var mayEndByRequest: Bool { outgoing.isSent && incoming.head != nil && incoming.version == .http2 }

    /// True if the request is completely sent, and the final head has not begun.
    var awaitsHead: Bool { outgoing.isSent && stage == .exchanging && incoming.provisionalChallenge == nil }

    /// True if the response may belong to another request: that is possible on a kept connection only.
    var isOpenToUnaskedAnswers: Bool { isReused && !wire.hasStreams && challengeCount == 0 }

    /// True if the exchange is over: the rest of the body would be useless. libcurl itself waits for it.
    var isOverBeforeBody: Bool {
        end != nil && (pauses.contains(.body) || awaitsPermission) && pauses.isDisjoint(with: .receiving)
            && !outgoing.isSent && failure == nil
    }

    /// True if libcurl waits for 100 (Continue), and has not read the body.
    var awaitsPermission: Bool { request.expectContinue != nil && !outgoing.hasSource }

    /// True if the complete response has arrived before the body was sent.
    var isAnswered: Bool { end == .answered }

    // MARK: QUIC

    /// True if the next attempt may use TCP in place of QUIC.
    var mayUseTCP: Bool { request.version == .http3 && !plan.isOverTCP && mayResendBody }

    /// True if the attempt makes a QUIC connection.
    var isBeginningQUIC: Bool { stage == .connecting && connection?.isQUIC == true && !isReused }

    /// True if no QUIC connection could be made for a reason that TCP may not have. A refused certificate is none.
    func isQUICUnusable(_ failure: EngineFailure) -> Bool {
        isBeginningQUIC && failure.handshake?.refusal == nil
    }

    // MARK: HTTP/2 responses before the end of the request

    /// The time without a byte in either direction after which the request's body is checked, if the response is
    /// complete. If no byte of it is sent for the same time again, the server does not want it.
    static let earlyAnswerPatience: Int64 = 500_000_000

    /// True if an HTTP/2 response arrived, or may have arrived, before the request was sent.
    var isAnsweredEarly: Bool {
        request.hasBody && incoming.version.hasStreams && incoming.head != nil && incoming.provisionalChallenge == nil
    }

    /// True if the response appears to be complete, although the request was not sent. A server may continue to read
    /// unless it reports a failure, so the exchange waits for a body that is still being produced.
    var isOverEarly: Bool {
        guard isAnsweredEarly, pauses.isDisjoint(with: [.reader, .suspended, .sendingRate, .receivingRate]) else {
            return false
        }
        if incoming.status >= 300 {
            return incoming.isBodyWhole(method: request.method) || incoming.framing.contentLength == nil
        }
        return !pauses.contains(.body) && incoming.isBodyWhole(method: request.method)
    }
}
