internal import HTTPTypes

extension HTTPCache {
    /// The part that the cache had in a response.
    public struct Status: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A stored response that was fresh, or that the request accepted regardless of its age.
        public static let hit = Status(rawValue: "hit")
        /// A response from the network, because no stored response could serve.
        public static let miss = Status(rawValue: "miss")
        /// A stored response that the server has validated.
        public static let revalidated = Status(rawValue: "revalidated")
        /// A stale stored response that the request or the response allows (`max-stale`, `stale-while-revalidate`,
        /// `stale-if-error`).
        public static let stale = Status(rawValue: "stale")
        /// A response from the network to a request that does not use the cache.
        public static let bypass = Status(rawValue: "bypass")
        /// The response from the network to an equal request at the same time.
        public static let coalesced = Status(rawValue: "coalesced")

        public var description: String { rawValue }
    }
}

extension CurlewResponse {
    private enum CacheStatusKey: Key { static let defaultValue: HTTPCache.Status? = nil }

    /// The part that an ``HTTPCache`` or ``Coalescing`` had in the response; nil without either.
    public internal(set) var cacheStatus: HTTPCache.Status? {
        get { self[CacheStatusKey.self] }
        set { self[CacheStatusKey.self] = newValue }
    }
}

/// The member that a cache adds to Cache-Status (RFC 9211 §2).
struct CacheStatusField {
    /// The name of the cache.
    let name: String
    let status: HTTPCache.Status
    /// The status with which the server validated or answered.
    var forwardStatus: Int?
    /// The reason for forwarding the request.
    var reason: Reason?
    var isStored = false
    /// The remaining seconds of freshness.
    var timeToLive: Int64?

    enum Reason: String {
        case bypass, method, miss, stale, request
        case uriMiss = "uri-miss"
        case varyMiss = "vary-miss"
        case partial
    }

    /// Adds the member after those of caches nearer to the origin.
    func add(to fields: inout HTTPFields) {
        var text = Self.item(name)
        switch status {
        case .hit, .stale: text += "; hit"
        case .coalesced: text += "; fwd=\((reason ?? .uriMiss).rawValue); collapsed"
        case .bypass: text += "; fwd=\((reason ?? .bypass).rawValue)"
        default: text += "; fwd=\((reason ?? .uriMiss).rawValue)"
        }
        if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
        if let timeToLive { text += "; ttl=\(timeToLive)" }
        if isStored { text += "; stored" }
        fields.append(HTTPField(name: .cacheStatus, value: text))
    }

    /// The name as a token if possible, else as a string (RFC 8941 §3.3).
    private static func item(_ name: String) -> String {
        let isToken = name.utf8.first?.isLetter == true && name.utf8.allSatisfy(\.isTokenByte)
        let escaped = name.utf8.filter { (0x20...0x7E).contains($0) }.reduce(into: [UInt8]()) { bytes, byte in
            if byte == .quote || byte == .backslash { bytes.append(.backslash) }
            bytes.append(byte)
        }
        return isToken ? name : "\"\(String(decoding: escaped, as: UTF8.self))\""
    }
}
