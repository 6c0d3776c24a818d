/// The time limits of a transfer.
struct TransferClock {
    private let idleLimit: Int64
    private let totalDeadline: Instant
    /// When a byte last went either way.
    private(set) var lastActivity = Instant(nanoseconds: 0)

    /// - Parameters:
    ///   - idleLimit: In nanoseconds; the largest number is none.
    ///   - totalDeadline: When the transfer fails, wherever it is then.
    init(idleLimit: Int64, totalDeadline: Instant) {
        self.idleLimit = idleLimit
        self.totalDeadline = totalDeadline
    }

    mutating func noteActivity(at now: Instant) { lastActivity = now }

    /// What has run out.
    enum Expiry { case total, idle }

    /// Where an attempt is, as far as the limits are concerned.
    struct Position {
        var stage: CurlewError.Stage
        var pauses: PauseReasons
        /// True if somebody has the response: a body that nobody has asked for has no reader to wait for.
        var isClaimed: Bool
    }

    func expiry(at now: Instant, _ position: Position) -> Expiry? {
        if totalDeadline <= now { return .total }
        return idleDeadline(position) <= now ? .idle : nil
    }

    /// The nearest moment at which something may have run out.
    func nearestDeadline(_ position: Position) -> Instant { min(totalDeadline, idleDeadline(position)) }

    /// The idle clock stands still until a connection is there, and while the reader, the user or a limit of rate holds the
    /// bytes back.
    private func idleDeadline(_ position: Position) -> Instant {
        let isExchanging = position.stage == .exchanging || position.stage == .receiving
        var exempting: PauseReasons = [.suspended, .sendingRate, .receivingRate]
        if position.isClaimed { exempting.insert(.reader) }
        guard isExchanging, position.pauses.isDisjoint(with: exempting) else { return .distantFuture }
        return lastActivity.advanced(by: idleLimit)
    }
}
