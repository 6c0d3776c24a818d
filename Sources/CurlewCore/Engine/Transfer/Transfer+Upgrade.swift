internal import CLibcurl
internal import HTTPTypes

/// Exchanges that ask for an upgrade. libcurl opens the connection, and ``UpgradeExchange`` sends and receives over it.
extension Transfer {
    /// Begins the upgrade after libcurl has opened the connection.
    func beginUpgrade(_ request: UpgradeRequest, _ easy: EasyHandle) {
        guard let connection = attempt.connection else {
            return settle(.failure(CurlewError(.engineFailed, "an exchange has no connection")))
        }
        let made = UpgradeExchange(self, request)
        upgrade = made
        upgradeNonce = made.nonce
        made.begin(easy, connection)
    }

    /// True if the receipt of bytes is paused.
    var isHeldBack: Bool { !attempt.pauses.isDisjoint(with: .receiving) }

    /// Ends the exchange because libcurl has closed the connection before a byte was sent.
    func upgradeIsLost(_ code: CURLcode) {
        attempt.reject(.lostConnection)
        upgradeEnds(code)
    }

    /// Ends the exchange like an attempt that libcurl has finished.
    /// - Parameter code: The error; nil if the response is complete.
    func upgradeEnds(_ code: CURLcode?) {
        guard outcome == nil, let easy else { return }
        let failure = code.map { easy.failure($0) }
        if attempt.isToBeRepeated(after: failure) { return repeatAttempt() }
        if failure == nil { publishChallenge() }
        settle(attempt.outcome(after: failure))
    }

    /// Removes the time limits of the exchange after the server has switched protocols.
    func isUpgradedNow() {
        clock.endLimits()
        core.timers.remove(self)
        multi?.noteUpgrade(of: self)
    }

    /// Ends the exchange with success for the user of the connection.
    func closeUpgrade() {
        guard outcome == nil else { return }
        settle(.success(HTTPFields()))
    }

    /// Records that the session accepts no more tasks, and informs the user of the connection.
    func noteSessionEnd() {
        isSessionEnding = true
        upgrade?.user?.sessionEnds()
    }

    /// True if TLS ended without the peer's close_notify.
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
