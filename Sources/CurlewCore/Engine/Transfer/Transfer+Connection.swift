internal import CLibcurl

/// The connection of an exchange: the wait for it, its use by libcurl, and repetitions.
extension Transfer {
    /// Ends the wait: the exchange has a connection, or a connection is being made for it.
    func connectionBegins() { clock.endWaiting(at: core.now) }

    /// Records that a connection is being made for the exchange.
    func connectionIsMade() {
        connectionBegins()
        figures.connectionIsBegun(at: core.now)
        if prepared.uri.layout.isSecure { prepared.options.trust.prepareForHandshake() }
    }

    /// Resumes the wait: the exchange's pending connection has failed or serves another exchange.
    func waitsAgain() {
        figures.connectionIsGivenUp()
        clock.resumeWaiting(at: core.now)
        rearm()
    }

    /// Answers libcurl's request to open a socket.
    func opening() -> Attempt.Opening {
        refuseRepetition()
        let opening = attempt.opening()
        if attempt.rejection == .fullConnection { attempt.connection?.becomesFull() }
        return opening
    }

    /// Records that libcurl continues on another connection to the same peer.
    func moves(to connection: Connection) {
        attempt.endStream()
        attempt.take(connection)
    }

    /// Rejects libcurl's own repetition of the request. The attempt decides whether another attempt follows.
    private func refuseRepetition() {
        guard attempt.isRepeatedByEngine, let easy else { return }
        let duration = clock.lastActivity.duration(to: core.now)
        noteRepetition(total: duration)
        let reason = reasonForRepetition(by: easy)
        if reason == .refusedStream, attempt.wire == .http2 { attempt.connection?.origin?.hasRefusedStreams = true }
        attempt.reject(reason)
    }

    private func noteRepetition(total: Duration) {
        let waits = figures.waits(clock.takeWaited(at: core.now), withConnecting: false)
        figures.append(TaskMetrics.Attempt(ofRepeated: attempt, waits, total: total))
    }

    /// The evidence of the attempt's connection and its bytes.
    var evidence: ConnectionEvidence? {
        attempt.connection.map {
            ConnectionEvidence(connection: $0, handshake: attempt.handshake, tlsVersion: attempt.security?.tlsVersion)
        }
    }

    /// The reason of libcurl's repetition, as far as it can be determined. Either a kept connection ended before a byte
    /// of a response, or the server refused the stream. libcurl has no error text for either, but has one for other
    /// failures.
    private func reasonForRepetition(by easy: EasyHandle) -> AttemptRejection {
        let refusal = attempt.reportedRefusal
        if refusal == .http11Required || easy.errorText.contains("HTTP_1_1_REQUIRED") { return .http11Required }
        if easy.long(CURLINFO_REQUEST_SIZE) == 0 {
            if attempt.outgoing.sentBytes == 0 { return .unsent }
            // libcurl reads the start of a body before it finds that the connection is closing.
            if attempt.wire == .http3, EngineFailure.isClosingQUIC(easy.errorText) { return .unsent }
        }
        let isOnNewConnection = !attempt.isReused
        // libcurl then overwrites the text that names the code.
        if attempt.wire == .http2, isOnNewConnection, !easy.errorText.isEmpty { return .http11Required }
        // The socket of QUIC does not show whether the connection has ended.
        if attempt.wire == .http3 { return isOnNewConnection || refusal == .refusedStream ? .refusedStream : .resend }
        guard attempt.wire == .http2, easy.errorText.isEmpty else { return .resend }
        // libcurl does not open another connection after the loss of a new one.
        return isOnNewConnection || refusal == .refusedStream || isRefusedStream ? .refusedStream : .resend
    }

    /// True if libcurl's repetition of a request on a kept HTTP/2 connection means that the server refused its stream:
    /// the connection itself has not ended.
    var isRefusedStream: Bool {
        guard attempt.wire == .http2, attempt.reportedRefusal == nil, let evidence else { return false }
        return evidence.isOpen && !evidence.mayHideError(ofSharing: self)
    }

    /// True if the end of a body without a length is not the end of its stream, but an error of the HTTP/2 connection.
    /// libcurl before 8.2 confuses the two. It has then closed the connection after its own GOAWAY, has waited for the
    /// peer to end it, or has ended another transfer with the error. Of several transfers the first one reported may be
    /// one that libcurl treats as complete; this case is not detected.
    var isCutShort: Bool {
        guard attempt.wire == .http2, Engine.hidesConnectionErrors, let evidence,
            attempt.incoming.isEndHidden(method: prepared.method)
        else { return false }
        if evidence.connection.hasFailed { return true }
        // Bytes of an upload may have been sent since.
        return !prepared.hasBody && evidence.wasClosedByError(after: clock.lastActivity)
    }

    /// Answers libcurl's request to send, the last step before the request's first byte.
    func connectionReady(localPort: Int32) -> Bool {
        clock.endAwaitingHead()
        refuseRepetition()
        let leave = attempt.connectionIsReady()
        if leave.isRepetition { noteRepetition(total: clock.lastActivity.duration(to: core.now)) }
        guard leave.isGranted, let easy, let connection = attempt.connection else { return false }
        let candidate = ConnectionCandidate(connection, localPort: localPort, for: prepared, easy)
        guard attempt.mayUse(candidate) else { return false }
        multi?.connections.learn(connection, candidate.wire)
        if attempt.beginStream() {
            multi?.connections.noteStream(on: connection)
        }
        connection.noteUse()
        switch candidate.wire {
        case .http1: if connection.isWorn { try? easy.forbidReuse(true) }
        case .http2:
            connection.watchesOutput = Engine.hidesConnectionErrors
            if attempt.isReused { watchForHeldBack() }
        case .http3: break
        }
        attempt.watchForUnaskedAnswer(attempt.isOpenToUnaskedAnswers && connection.unconfirmedBytes == 0)
        noteActivity()
        if !prepared.hasBody || attempt.outgoing.isSent {
            clock.awaitHead(since: core.now)
            listenForGoAway()
        }
        rearm()
        return true
    }

    // MARK: HTTP/3 and TCP

    /// The longest handshake of a QUIC connection, if TCP may replace it, in milliseconds. After a lost first packet,
    /// QUIC sends another one within a second (RFC 9002 §6.2.2).
    private static let quicPatience = 2000
    /// The time after which a QUIC connection without an answer counts as failed, if the exchange ends by itself.
    private static let quicSilence = Duration.milliseconds(500)

    /// True if a request that prefers HTTP/3 is sent over TCP.
    var usesTCP: Bool { attempt.plan.isOverTCP }

    func useTCP() { attempt.useTCP() }

    /// The most milliseconds for the handshake of a QUIC connection: enough time is left for TCP.
    var handshakeLimit: Int {
        guard attempt.mayUseTCP else { return .max }
        let connect = prepared.options.values.engineConnectTimeout / 2
        let total = core.now.duration(to: clock.totalDeadline).millisecondsRoundedUp / 2
        return max(1, min(Self.quicPatience, connect, total))
    }

    /// Continues a waiting exchange over TCP, because no QUIC connection can be made.
    /// - Parameter error: The error of an exchange that cannot use TCP; nil lets it wait for another connection.
    func quicFailed(_ error: CurlewError?) {
        guard attempt.mayUseTCP, let multi else {
            if let error { fail(error) }
            return
        }
        multi.connections.withdraw(self)
        waitsAgain()
        useTCP()
        multi.connections.submit(self)
    }

    /// The origin to which no QUIC connection could be made, and the error.
    typealias QUICProblem = (origin: OriginPool, error: CurlewError, multi: MultiHandle)

    func quicProblem(_ failure: EngineFailure?) -> QUICProblem? {
        guard attempt.rejection == .noQUIC, let origin = attempt.connection?.origin, let multi,
            let error = EngineVerdict(prepared).error(in: attempt, after: failure)
        else { return nil }
        return (origin, error, multi)
    }

    func noteProblem(_ problem: QUICProblem?) {
        if let problem { problem.multi.connections.noteFailure(ofQUIC: problem.origin, problem.error) }
    }

    /// Records that an exchange has ended while its QUIC connection had no answer.
    func noteSilentHandshake(_ code: ErrorCode, of connection: Connection) {
        guard connection.isQUIC, !attempt.isReused, attempt.stage == .connecting, let origin = connection.origin,
            connection.lastInput == connection.opened, connection.opened.duration(to: core.now) >= Self.quicSilence,
            code == .totalTimeout || code == .cancelled
        else { return }
        multi?.connections.noteFailure(ofQUIC: origin, nil)
    }

    // MARK: Connections that permit no stream

    private func watchForHeldBack() {
        guard let connection = attempt.connection, connection.users == 1, let written = connection.writtenBytes else {
            return
        }
        attempt.watchForHeldBack(
            HeldBackWatch(written: written, tlsVersion: attempt.security?.tlsVersion, at: core.now))
    }

    /// Checks whether the request was sent. If it was not, another attempt begins on a new connection, and no other
    /// request joins this connection before it has new input.
    /// - Returns: True if another attempt has begun.
    func leaveIfHeldBack(_ watch: HeldBackWatch) -> Bool {
        attempt.watchForHeldBack(nil)
        guard attempt.mayLeaveHeldBack, let connection = attempt.connection, let written = connection.writtenBytes,
            watch.isHeldBack(written: written)
        else { return false }
        connection.isSilent = true
        attempt.reject(.heldBack)
        repeatAttempt()
        multi?.noteDropped(on: connection)
        return true
    }
}
