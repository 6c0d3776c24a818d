internal import Curlew
internal import FoundationEssentials

/// The renewals of one credential, and the removals of its token.
///
/// Renewals and removals use the store in turns. A renewal that was begun before a removal saves no token.
final class OAuthTokenSource: Sendable {
    /// The request for a new token without a refresh token; nil for a user's token.
    let grant: OAuth.Request?
    private let endpoint: OAuth.Endpoint
    private let store: any OAuth.TokenStore
    private let rule: TokenRenewal
    private let now: @Sendable () -> Date
    private let turns = StoreTurns()

    /// A token that is not yet in the store. A server that rotates refresh tokens accepts no earlier one, so this token
    /// must not be lost.
    private struct Unsaved {
        let token: OAuth.Token
        /// The token that the store had. If it has another one later, a login or another process has replaced it, and
        /// the unsaved token is obsolete.
        let replaced: OAuth.Token?
    }

    private let unsaved = Guarded<Unsaved?>(nil)

    init(
        endpoint: OAuth.Endpoint, grant: OAuth.Request?, store: any OAuth.TokenStore, rule: TokenRenewal,
        now: @escaping @Sendable () -> Date
    ) {
        self.endpoint = endpoint
        self.grant = grant
        self.store = store
        self.rule = rule
        self.now = now
    }

    /// The time for which a token is used from now on; nil for a token that does not expire.
    @Sendable
    func usableTime(_ token: OAuth.Token) -> Duration? {
        guard let end = token.expiration else { return nil }
        var generator = SystemRandomNumberGenerator()
        // A store may contain any date, and a duration has bounds.
        let rest = min(max(0, end.timeIntervalSince(now())), Double(OAuth.Lifetime.longest))
        return rule.age(lifetime: .seconds(rest), using: &generator)
    }

    // MARK: Removal

    /// Begins a removal: renewals that were begun before save nothing from now on.
    func beginRemoval() -> StoreTurns.Turn { turns.takeForRemoval() }

    /// Removes the token from the store, after the renewal that has its turn.
    func finish(_ removal: StoreTurns.Turn) async throws {
        try await turns.wait(for: removal)
        defer { turns.end() }
        unsaved.withLock { $0 = nil }
        try await store.save(nil)
    }

    // MARK: Renewal

    /// The token that replaces another token.
    @Sendable
    func renew(_ old: OAuth.Token?) async throws -> OAuth.Token {
        while true {
            let turn = turns.take()
            try await turns.wait(for: turn)
            defer { turns.end() }
            // A removal cancels the renewals that were begun before.
            try Task.checkCancellation()
            let token = try await token(after: old, in: turn)
            if turns.isCurrent(turn) { return token }
        }
    }

    private func token(after old: OAuth.Token?, in turn: StoreTurns.Turn) async throws -> OAuth.Token {
        let stored = try await load(in: turn)
        // Another process, or a login, may have saved a newer token.
        if let stored, isUsable(stored, insteadOf: old) { return stored }
        let token: OAuth.Token
        do {
            token = try await requested(after: stored)
        } catch let error as CurlewError where Self.isRefusedGrant(error) {
            return try await successor(of: stored, refusedBy: error, in: turn)
        }
        guard token.isBearer else {
            throw CurlewError(.invalidToken, "requests cannot carry the token, which is no access token")
        }
        guard turns.isCurrent(turn) else { return token }
        unsaved.withLock { $0 = Unsaved(token: token, replaced: stored) }
        guard let kept = try await load(in: turn), kept.isBearer else { throw Self.unavailable() }
        return kept
    }

    private func requested(after last: OAuth.Token?) async throws -> OAuth.Token {
        if let last, let refreshToken = last.refreshToken {
            do {
                return try await endpoint.token(.refresh(refreshToken)).continuing(last)
            } catch let error as CurlewError where Self.isRefusedGrant(error) && grant != nil {}
        }
        guard let grant else { throw Self.unavailable() }
        return try await endpoint.token(grant)
    }

    /// The token that another process, or a login, has saved in the place of a refused one. Without such a token, the
    /// refused one is removed.
    private func successor(
        of refused: OAuth.Token?, refusedBy error: CurlewError, in turn: StoreTurns.Turn
    ) async throws -> OAuth.Token {
        let stored = try await store.load()
        guard Self.isSame(stored, refused) else {
            guard let stored, isUsable(stored, insteadOf: refused) else { throw error }
            return stored
        }
        if turns.isCurrent(turn), grant == nil { try await store.save(nil) }
        throw error
    }

    /// The token of the store, after an unsaved token was saved.
    private func load(in turn: StoreTurns.Turn) async throws -> OAuth.Token? {
        let stored = try await store.load()
        guard let waiting = unsaved.withLock({ $0 }) else { return stored }
        // A client that acts for itself has no login, so an empty store takes its token.
        guard Self.isSame(stored, waiting.replaced) || stored == nil && grant != nil else {
            unsaved.withLock { $0 = nil }
            return stored
        }
        guard turns.isCurrent(turn) else { return stored }
        try await store.save(waiting.token)
        unsaved.withLock { $0 = nil }
        return waiting.token
    }

    private func isUsable(_ token: OAuth.Token, insteadOf old: OAuth.Token?) -> Bool {
        token.isBearer && !Self.isSame(token, old) && usableTime(token).map { $0 > .seconds(1) } ?? true
    }

    /// True if both are absent, or have the same access token.
    private static func isSame(_ one: OAuth.Token?, _ other: OAuth.Token?) -> Bool {
        (one?.accessToken).hasSameBytes(as: other?.accessToken)
    }

    private static func isRefusedGrant(_ error: CurlewError) -> Bool {
        (error.underlying as? OAuth.Failure)?.code == .invalidGrant
    }

    private static func unavailable() -> CurlewError {
        CurlewError(.credentialUnavailable, "there is no token that could be renewed: the user has to log in")
    }
}
