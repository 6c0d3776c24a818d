/// The memory of what servers have asked for, so that they need not ask again, and of how often each nonce was used.
final class AuthenticationMemory: Sendable {
    private struct Space {
        let origin: String
        /// The credentials go to this path and below it.
        let path: String
        var use: AuthenticationUse
        /// The number of uses of the nonce.
        var count: UInt32 = 0
        /// True if the server has taken the credentials.
        var isAccepted = false
    }

    /// The most that are kept; the one that was added first is evicted.
    static let limit = 256

    private let spaces = Guarded<[Space]>([])

    /// The use that the server took the last time, for the space whose path is the nearest above.
    func accepted(_ origin: String, path: String) -> AuthenticationUse? {
        spaces.withLock { spaces in
            let fitting = spaces.filter { $0.isAccepted && $0.origin == origin && path.hasPrefix($0.path) }
            var use = fitting.max { $0.path.utf8.count < $1.path.utf8.count }?.use
            use?.isRemembered = true
            return use
        }
    }

    /// Counts one more request with the nonce of a use, and returns how many these are. Those under way at a time share the
    /// counter, as a server takes each number once.
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
            // A digest is for the whole server, unless it says otherwise; a password for a folder (RFC 7617 §2.2).
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
            spaces.append(Space(origin: origin, path: use.digest == nil ? folder : "/", use: use, count: 1))
            return 1
        }
    }

    /// The server has taken the credentials, and may have named the nonce to use next.
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

    /// The server has refused the credentials.
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
