internal import CLibcurl
internal import HTTPTypes

/// Exchanges that ask for an upgrade. libcurl makes the connection; ``UpgradeExchange`` does the rest.
extension Transfer {
    /// libcurl has made the connection.
    func beginUpgrade(_ request: UpgradeRequest, _ easy: EasyHandle) {
        guard let connection = attempt.connection else {
            return settle(.failure(CurlewError(.engineFailed, "an exchange has no connection")))
        }
        let made = UpgradeExchange(self, request)
        upgrade = made
        upgradeNonce = made.nonce
        made.begin(easy, connection)
    }

    /// True if the bytes that come are held back.
    var isHeldBack: Bool { !attempt.pauses.isDisjoint(with: .receiving) }

    /// libcurl does not have the connection any more, and nothing was sent.
    func upgradeIsLost(_ code: CURLcode) {
        attempt.reject(.lostConnection)
        upgradeEnds(code)
    }

    /// The exchange has ended, as an attempt that libcurl is done with.
    /// - Parameter code: The fault; nil if the answer has come to its end.
    func upgradeEnds(_ code: CURLcode?) {
        guard outcome == nil, let easy else { return }
        let failure = code.map { easy.failure($0) }
        if attempt.isToBeRepeated(after: failure) { return repeatAttempt() }
        if failure == nil { publishChallenge() }
        settle(attempt.outcome(after: failure))
    }

    /// The server has switched protocols: the time limits of the exchange are over.
    func isUpgradedNow() {
        clock.endLimits()
        core.timers.remove(self)
        multi?.noteUpgrade(of: self)
    }

    /// The user is done with the connection.
    func closeUpgrade() {
        guard outcome == nil else { return }
        settle(.success(HTTPFields()))
    }

    /// The session takes no more tasks.
    func noteSessionEnd() {
        isSessionEnding = true
        upgrade?.user?.sessionEnds()
    }

    /// True if TLS ended without the word of the peer.
    var isCutOff: Bool { attempt.handshake.map { !$0.isClosedByPeer } ?? false }

    func upgradeError(_ code: CURLcode) -> CurlewError {
        let words = easy.map { $0.failure(code).words } ?? String(cString: curl_easy_strerror(code))
        var context = CurlewError.Context()
        context.engineCode = Int(code.rawValue)
        return CurlewError(.connectionLost, words, context: context)
    }

    /// The error of a connection that has ended.
    var endOfUpgrade: CurlewError {
        if case .failure(let error) = outcome { return error }
        return CurlewError(.connectionLost, "the connection was closed")
    }
}
