/// The credentials that servers have accepted, so that they are sent before a challenge, and the use count of each
/// nonce.
final class AuthenticationMemory: Sendable {
    private struct Space {
        let origin: String
        /// The path at and below which the credentials are sent.
        let path: String
        var use: AuthenticationUse
        /// The number of uses of the nonce.
        var count: UInt32 = 0
        /// True if the server has accepted the credentials.
        var isAccepted = false
    }

    /// The largest number of entries; the oldest is evicted.
    static let limit = 256

    private let spaces = Guarded<[Space]>([])

    /// The credentials that the server accepted last, from the entry with the longest matching path.
    func accepted(_ origin: String, path: String) -> AuthenticationUse? {
        spaces.withLock { spaces in
            let fitting = spaces.filter { $0.isAccepted && $0.origin == origin && path.hasPrefix($0.path) }
            var use = fitting.max { $0.path.utf8.count < $1.path.utf8.count }?.use
            use?.isRemembered = true
            return use
        }
    }

    /// Counts one more request with the nonce, and returns the count. Concurrent requests share the counter, as a
    /// server accepts each number once.
    func count(_ use: AuthenticationUse, _ origin: String, path: String) -> UInt32 {
        spaces.withLock { spaces in
            if let index = Self.index(of: use, origin, path, in: spaces) {
                if !spaces[index].use.digest.map(\.nonce).hasSameBytes(as: use.digest.map(\.nonce)) {
                    spaces[index].count = 0
                    spaces[index].use = use
                }
                spaces[index].count &+= 1
                return spaces[index].count
            }
            if spaces.count >= Self.limit { spaces.removeFirst() }
            // A Digest credential is valid for a complete server, a Basic password for a folder (RFC 7617 §2.2).
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
            spaces.append(Space(origin: origin, path: use.digest == nil ? folder : "/", use: use, count: 1))
            return 1
        }
    }

    /// Records that the server has accepted the credentials, and the next nonce if it names one.
    func noteAccepted(_ use: AuthenticationUse, _ origin: String, path: String, nextNonce: String?) {
        spaces.withLock { spaces in
            guard let index = Self.index(of: use, origin, path, in: spaces) else { return }
            spaces[index].isAccepted = true
            guard let nextNonce, let digest = spaces[index].use.digest, !digest.nonce.hasSameBytes(as: nextNonce) else {
                return
            }
            spaces[index].use.digest = DigestChallenge(digest, nonce: nextNonce)
            spaces[index].count = 0
        }
    }

    /// Removes credentials that the server has refused.
    func forget(_ use: AuthenticationUse, _ origin: String, path: String) {
        spaces.withLock { spaces in
            if let index = Self.index(of: use, origin, path, in: spaces) { spaces.remove(at: index) }
        }
    }

    private static func index(
        of use: AuthenticationUse, _ origin: String, _ path: String, in spaces: [Space]
    ) -> Int? {
        spaces.firstIndex { $0.origin == origin && path.hasPrefix($0.path) && $0.use.identity == use.identity }
    }
}
