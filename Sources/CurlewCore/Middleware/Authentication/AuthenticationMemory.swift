/// The credentials that servers have accepted, so that they are sent before a challenge, and the use counts of recent
/// nonces.
final class AuthenticationMemory: Sendable {
    private struct Space {
        let origin: String
        /// The path at and below which the credentials are sent.
        let path: String
        var use: AuthenticationUse
        /// True if the server has accepted the credentials.
        var isAccepted = false
    }

    /// The recent nonces of a protection space, the latest use last. Their counts do not depend on the credentials:
    /// a server accepts each number of a nonce once (RFC 7616 §3.4). A server of several machines may have several
    /// nonces in turn.
    private struct NonceCounts {
        let origin: String
        let realm: String
        private var recent: [(nonce: String, count: UInt32)] = []

        init(origin: String, realm: String) {
            self.origin = origin
            self.realm = realm
        }

        mutating func next(of nonce: String) -> UInt32 {
            let place = recent.firstIndex { $0.nonce.hasSameBytes(as: nonce) }
            let count = (place.map { recent.remove(at: $0).count } ?? 0) &+ 1
            if recent.count >= AuthenticationMemory.nonceLimit { recent.removeFirst() }
            recent.append((nonce, count))
            return count
        }
    }

    private struct State {
        var spaces: [Space] = []
        var counts: [NonceCounts] = []
    }

    /// The largest number of entries; the oldest is evicted.
    static let limit = 256
    /// The largest number of nonces whose counts are kept for a protection space.
    static let nonceLimit = 8

    private let state = Guarded(State())

    /// The credentials that the server accepted last, from the entry with the longest matching path.
    func accepted(_ origin: String, path: String) -> AuthenticationUse? {
        state.withLock { state in
            let fitting = state.spaces.filter { $0.isAccepted && $0.origin == origin && path.hasPrefix($0.path) }
            var use = fitting.max { $0.path.utf8.count < $1.path.utf8.count }?.use
            use?.isRemembered = true
            return use
        }
    }

    /// Counts one more request with the nonce, and returns the count. Concurrent requests share the counter, as a
    /// server accepts each number once.
    func count(_ use: AuthenticationUse, _ origin: String, path: String) -> UInt32 {
        state.withLock { state in
            if let index = Self.index(of: use, origin, path, in: state.spaces) {
                if !state.spaces[index].use.digest.map(\.nonce).hasSameBytes(as: use.digest.map(\.nonce)) {
                    state.spaces[index].use = use
                }
            } else {
                if state.spaces.count >= Self.limit { state.spaces.removeFirst() }
                // A Digest credential is valid for a complete server, a Basic password for a folder (RFC 7617 §2.2).
                let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
                state.spaces.append(Space(origin: origin, path: use.digest == nil ? folder : "/", use: use))
            }
            guard let digest = use.digest else { return 1 }
            let place = state.counts.firstIndex { $0.origin == origin && $0.realm.hasSameBytes(as: digest.realm) }
            var counts = place.map { state.counts.remove(at: $0) } ?? NonceCounts(origin: origin, realm: digest.realm)
            let count = counts.next(of: digest.nonce)
            if state.counts.count >= Self.limit { state.counts.removeFirst() }
            state.counts.append(counts)
            return count
        }
    }

    /// Records that the server has accepted the credentials, and the next nonce if it names one.
    func noteAccepted(_ use: AuthenticationUse, _ origin: String, path: String, nextNonce: String?) {
        state.withLock { state in
            guard let index = Self.index(of: use, origin, path, in: state.spaces) else { return }
            state.spaces[index].isAccepted = true
            guard let nextNonce, let digest = state.spaces[index].use.digest,
                !digest.nonce.hasSameBytes(as: nextNonce)
            else { return }
            state.spaces[index].use.digest = DigestChallenge(digest, nonce: nextNonce)
        }
    }

    /// Removes credentials that the server has refused.
    func forget(_ use: AuthenticationUse, _ origin: String, path: String) {
        state.withLock { state in
            if let index = Self.index(of: use, origin, path, in: state.spaces) { state.spaces.remove(at: index) }
        }
    }

    private static func index(
        of use: AuthenticationUse, _ origin: String, _ path: String, in spaces: [Space]
    ) -> Int? {
        spaces.firstIndex { $0.origin == origin && path.hasPrefix($0.path) && $0.use.identity == use.identity }
    }
}
