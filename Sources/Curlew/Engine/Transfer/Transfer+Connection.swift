internal import CLibcurl

/// The connection: waiting for it, libcurl that opens it and asks for leave to use it, and repetitions.
extension Transfer {
    /// The exchange waits no more: it has a connection, or one is being made for it.
    func connectionBegins() { clock.endWaiting(at: core.now) }

    /// A connection is being made for the exchange.
    func connectionIsMade() {
        connectionBegins()
        figures.connectionIsBegun(at: core.now)
        if prepared.uri.layout.isSecure { prepared.options.trust.prepareForHandshake() }
    }

    /// The connection that was being made for the exchange has failed or serves another, and none is being made for it.
    func waitsAgain() {
        figures.connectionIsGivenUp()
        clock.resumeWaiting(at: core.now)
        rearm()
    }

    /// libcurl wants to open a socket.
    func opening() -> Attempt.Opening {
        refuseRepetition()
        let opening = attempt.opening()
        if attempt.rejection == .fullConnection { attempt.connection?.becomesFull() }
        return opening
    }

    /// libcurl goes on over another connection to the same end.
    func moves(to connection: Connection) {
        attempt.endStream()
        attempt.take(connection)
    }

    /// Refuses that libcurl sends the request a second time by itself. Whether another attempt follows is the attempt's to decide.
    private func refuseRepetition() {
        guard attempt.isRepeatedByEngine, let easy else { return }
        let duration = clock.lastActivity.duration(to: core.now)
        noteRepetition(total: duration)
        attempt.reject(reasonForRepetition(by: easy))
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

    /// The reason for which libcurl wants to send the request a second time, as far as it can be told: a kept connection ended
    /// before a byte of a response, or the server refused the stream. libcurl has no words for either, but for other failures.
    private func reasonForRepetition(by easy: EasyHandle) -> AttemptRejection {
        if easy.errorText.contains("HTTP_1_1_REQUIRED") { return .http11Required }
        if easy.long(CURLINFO_REQUEST_SIZE) == 0, attempt.outgoing.sentBytes == 0 { return .unsent }
        let isOnNewConnection = !attempt.isReused
        // libcurl then overwrites the words that name the code.
        if attempt.speaksHTTP2, isOnNewConnection, !easy.errorText.isEmpty { return .http11Required }
        guard attempt.speaksHTTP2, easy.errorText.isEmpty, let evidence else { return .resend }
        // A new connection that dies is not followed by another by libcurl.
        if isOnNewConnection { return .refusedStream }
        return evidence.isOpen && !evidence.mayHideError(ofSharing: self) ? .refusedStream : .resend
    }

    /// True if the end of a body that has no length is not that of its stream, but an error of the HTTP/2 connection, which libcurl
    /// before 8.2 takes for it. libcurl has closed the connection then, after a GOAWAY of its own, or has ended another transfer
    /// with the error. Of several transfers the first to be told may be one that it takes for whole: that stays unknown.
    var isCutShort: Bool {
        guard attempt.speaksHTTP2, Engine.hidesConnectionErrors, let evidence,
            attempt.incoming.isEndHidden(method: prepared.method)
        else { return false }
        // Bytes of an upload may have left since.
        return evidence.connection.hasFailed || (!prepared.hasBody && evidence.wasClosedWithGoAway)
    }

    /// The last moment before the request's first byte: libcurl has a connection and asks for leave.
    func connectionReady(localPort: Int32) -> Bool {
        clock.endAwaitingHead()
        refuseRepetition()
        let leave = attempt.connectionIsReady()
        if leave.isRepetition { noteRepetition(total: clock.lastActivity.duration(to: core.now)) }
        guard leave.isGranted, let easy, let connection = attempt.connection else { return false }
        let candidate = ConnectionCandidate(connection, localPort: localPort, for: prepared, easy)
        guard attempt.mayUse(candidate) else { return false }
        multi?.connections.learn(connection, isHTTP2: candidate.speaksHTTP2)
        if attempt.beginStream() {
            multi?.connections.noteStream(on: connection)
        }
        connection.noteUse()
        if candidate.speaksHTTP2 {
            connection.watchesOutput = Engine.hidesConnectionErrors
            if attempt.isReused { watchForHeldBack() }
        } else if connection.isWorn {
            try? easy.forbidReuse(true)
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

    // MARK: Connections that permit no stream

    private func watchForHeldBack() {
        guard let connection = attempt.connection, connection.users == 1, let written = connection.writtenBytes else {
            return
        }
        attempt.watchForHeldBack(
            HeldBackWatch(written: written, tlsVersion: attempt.security?.tlsVersion, at: core.now))
    }

    /// Looks whether the request has left. If it has not, another attempt is made on a new connection, and no other request joins
    /// this one before something comes over it.
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
