extension HTTPCache {
    /// How a request uses the cache, in the words of the Fetch standard (`request.cache`); NSURLRequest's policies beside them.
    public struct Policy: Sendable, Hashable {
        enum Kind: String, Sendable {
            case standard = "default"
            case noStore = "no-store"
            case reload = "reload"
            case noCache = "no-cache"
            case forceCache = "force-cache"
            case onlyIfCached = "only-if-cached"
        }

        let kind: Kind

        /// A fresh response is used, a stale one validated (RFC 9111 §4). The default; `useProtocolCachePolicy`.
        public static let standard = Policy(kind: .standard)
        /// Nothing is looked up, and nothing stored. `reloadIgnoringLocalCacheData` of a cache that shall not be written to.
        public static let noStore = Policy(kind: .noStore)
        /// Nothing is looked up, and caches on the way are asked not to answer, either; the response is stored.
        /// `reloadIgnoringLocalCacheData` and `reloadIgnoringLocalAndRemoteCacheData`.
        public static let reload = Policy(kind: .reload)
        /// What is stored is validated, fresh or not. `reloadRevalidatingCacheData`.
        public static let noCache = Policy(kind: .noCache)
        /// What is stored is used, fresh or not; else the network. `returnCacheDataElseLoad`.
        public static let forceCache = Policy(kind: .forceCache)
        /// What is stored is used, fresh or not; else the answer is 504, and the network is not asked. `returnCacheDataDontLoad`.
        public static let onlyIfCached = Policy(kind: .onlyIfCached)

        /// The policy of a name of the Fetch standard, such as `no-cache`; nil for another text.
        public init?(_ name: String) {
            guard let kind = Kind(rawValue: name) else { return nil }
            self.kind = kind
        }

        init(kind: Kind) { self.kind = kind }

        /// True if what is stored serves whatever its age.
        var takesStale: Bool { kind == .forceCache || kind == .onlyIfCached }
    }
}

extension HTTPCache.Policy: CustomStringConvertible {
    /// The name in the Fetch standard.
    public var description: String { kind.rawValue }
}

extension RequestOptions {
    private enum CachePolicyKey: Key {
        static let defaultValue: HTTPCache.Policy? = nil
        static let affectsResponse = false
    }
    private enum CachePartitionKey: Key {
        static let defaultValue: String? = nil
        static let affectsResponse = false
    }

    /// The use of an ``HTTPCache`` by this request; nil is ``HTTPCache/Policy/standard``.
    public var cachePolicy: HTTPCache.Policy? {
        get { self[CachePolicyKey.self] }
        set { self[CachePolicyKey.self] = newValue }
    }

    /// The user, or the group of users, that responses to this request are for: what is stored in one partition answers no request
    /// of another. Any text that names the user and is no secret, such as a number in a database. It reaches the store as it is.
    ///
    /// With a partition, requests with credentials use a ``HTTPCache/Mode/private`` cache; without one they bypass it. nil, the
    /// default, is the partition of all who have no credentials.
    public var cachePartition: String? {
        get { self[CachePartitionKey.self] }
        set { self[CachePartitionKey.self] = newValue }
    }
}

extension HTTPCache {
    /// Whose responses a cache holds (RFC 9111 §1).
    public struct Mode: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A private cache of a process that acts for many, as a server does. The default.
        ///
        /// Requests with credentials bypass it, unless ``RequestOptions/cachePartition`` says whose they are: Authorization,
        /// Cookie, other fields whose names say that they hold a secret or name a user, those that ``RequestOptions/secretFields``
        /// names, user information in the URI, and credentials that a link behind the cache adds. A response with Set-Cookie is
        /// stored only if it is marked `public`.
        public static let `private` = Mode(description: "private")
        /// A private cache of a program that acts as one user. Requests with credentials use it like any others.
        public static let singleUser = Mode(description: "single-user")
        /// A shared cache, as of a gateway: `s-maxage`, `proxy-revalidate`, `private` and CDN-Cache-Control (RFC 9213) hold, and
        /// responses to requests with Authorization are stored as RFC 9111 §3.5 has it. Requests with other credentials bypass it,
        /// and responses with Set-Cookie are not stored unless they are marked `public`.
        public static let shared = Mode(description: "shared")
    }
}
