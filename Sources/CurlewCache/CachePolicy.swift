extension HTTPCache {
    /// The use of the cache by a request, with the names of the Fetch standard (`request.cache`). The descriptions name
    /// the equivalent policies of NSURLRequest.
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

        /// Uses a fresh response, and validates a stale one (RFC 9111 §4). The default; `useProtocolCachePolicy`.
        public static let standard = Policy(kind: .standard)
        /// Neither reads nor writes the cache. `reloadIgnoringLocalCacheData` with a cache that must not be written to.
        public static let noStore = Policy(kind: .noStore)
        /// Does not read the cache, and asks intermediate caches not to answer either; the response is stored.
        /// `reloadIgnoringLocalCacheData` and `reloadIgnoringLocalAndRemoteCacheData`.
        public static let reload = Policy(kind: .reload)
        /// Validates a stored response, fresh or stale. `reloadRevalidatingCacheData`.
        public static let noCache = Policy(kind: .noCache)
        /// Uses a stored response, fresh or stale; without one, the network. `returnCacheDataElseLoad`.
        public static let forceCache = Policy(kind: .forceCache)
        /// Uses a stored response, fresh or stale; without one, the response is 504, and the network is not used.
        /// `returnCacheDataDontLoad`.
        public static let onlyIfCached = Policy(kind: .onlyIfCached)

        /// The policy with a name of the Fetch standard, such as `no-cache`; nil for other text.
        public init?(_ name: String) {
            guard let kind = Kind(rawValue: name) else { return nil }
            self.kind = kind
        }

        init(kind: Kind) { self.kind = kind }

        /// True if a stored response is used regardless of its age.
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

    /// The use of an ``HTTPCache`` by this request; nil means ``HTTPCache/Policy/standard``. Downloads and streams of
    /// events have ``HTTPCache/Policy/noStore``, unless the caller chooses another policy.
    public var cachePolicy: HTTPCache.Policy? {
        get { self[CachePolicyKey.self] ?? (isNotStored ? .noStore : nil) }
        set {
            self[CachePolicyKey.self] = newValue
            if isNotStored { isNotStored = false }
        }
    }

    /// The user, or the group of users, to whom the responses belong. A response that is stored in one partition never
    /// answers a request of another.
    ///
    /// Any text that identifies the user and is not a secret is suitable, such as a number in a database. It is passed
    /// to the store unchanged. With a partition, requests with credentials use a ``HTTPCache/Mode/private`` cache;
    /// without one they bypass it. nil, the default, is the partition of requests without credentials.
    public var cachePartition: String? {
        get { self[CachePartitionKey.self] }
        set { self[CachePartitionKey.self] = newValue }
    }
}

extension HTTPCache {
    /// The users whose responses a cache holds (RFC 9111 §1).
    public struct Mode: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// A private cache in a process that acts for many users, such as a server. The default.
        ///
        /// Requests with credentials bypass it, unless ``RequestOptions/cachePartition`` names their user. Credentials
        /// are Authorization, Cookie, other fields with a secret or a user according to their names,
        /// ``RequestOptions/secretFields``, user information in the URI, and credentials that a link behind the cache
        /// adds. A response with Set-Cookie is stored only if it is marked `public`.
        public static let `private` = Mode(description: "private")
        /// A private cache in a program that acts for a single user. It treats requests with credentials like all
        /// others.
        public static let singleUser = Mode(description: "single-user")
        /// A shared cache, such as a gateway's. It obeys `s-maxage`, `proxy-revalidate`, `private` and
        /// CDN-Cache-Control (RFC 9213).
        ///
        /// Responses to requests with Authorization are stored according to RFC 9111 §3.5. Requests with other
        /// credentials bypass the cache. Responses with Set-Cookie are stored only if they are marked `public`.
        public static let shared = Mode(description: "shared")
    }
}
