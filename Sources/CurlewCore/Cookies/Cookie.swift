extension CookieJar {
    /// A cookie in the form in which a ``CookieJar`` stores it (RFC 6265bis §5.7).
    ///
    /// Every value of this type can be sent unchanged: its name and value contain no control characters and have at
    /// most 4,096 bytes together, and it obeys the prefix of its name, `__Host-` or `__Secure-`. Its description does
    /// not contain the value.
    public struct Cookie: Sendable, Hashable {
        /// The rule for sending a cookie with requests that another site has caused. Curlew does not distinguish sites
        /// and ignores the rule; it stores the server's value for programs that do.
        public enum SameSite: String, Sendable, Hashable, Codable {
            /// The cookie is never sent with requests from another site.
            case strict
            /// The cookie is sent with requests from another site only for navigation by a safe method.
            case lax
            /// The cookie is sent with all requests. Such a cookie requires a secure connection.
            case none
        }

        /// The bytes of the name; empty for a cookie without a name.
        public let nameBytes: [UInt8]
        /// The bytes of the value.
        public let valueBytes: [UInt8]
        /// The host that receives the cookie, in lower case, without a leading dot; names outside ASCII are in their
        /// `xn--` form.
        public let domain: String
        /// True if only that host receives the cookie, and none of its subdomains.
        public let isHostOnly: Bool
        /// The path for which the cookie is sent, with its subpaths; it begins with a slash.
        public let path: String
        /// The time of expiry, in seconds since the beginning of 1970, UTC; nil for a cookie that ends with the
        /// session.
        public let expirySeconds: Int64?
        /// True if the cookie is sent over https only.
        public let isSecure: Bool
        /// True if scripts cannot read the cookie. Curlew runs no scripts; it stores the server's value.
        public let isHTTPOnly: Bool
        /// The server's rule for requests from other sites; nil without one, which browsers treat as `lax`.
        public let sameSite: SameSite?

        /// The name; invalid UTF-8 is repaired.
        public var name: String { String(decoding: nameBytes, as: UTF8.self) }
        /// The value; invalid UTF-8 is repaired.
        public var value: String { String(decoding: valueBytes, as: UTF8.self) }

        /// Makes a cookie.
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        ///   - domain: The host. A leading dot is ignored.
        ///   - isHostOnly: True if only that host receives the cookie.
        ///   - path: The path.
        ///   - expirySeconds: The time of expiry, in seconds since 1970.
        ///   - isSecure: True if the cookie is sent over https only.
        ///   - isHTTPOnly: True if scripts cannot read the cookie.
        ///   - sameSite: The rule for requests from other sites.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a cookie that a server could not set:
        ///   - a control character or a semicolon, `=` in the name, or blanks around name or value;
        ///   - more than 4,096 bytes of name and value;
        ///   - a path that does not begin with a slash or has more than 1,024 bytes;
        ///   - a domain that is not a host;
        ///   - a prefix that is not obeyed, or ``SameSite/none`` without `isSecure`.
        public init(
            name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
            expirySeconds: Int64? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil
        ) throws {
            try self.init(
                name: Array(name.utf8), value: Array(value.utf8), domain: domain, isHostOnly: isHostOnly, path: path,
                expirySeconds: expirySeconds, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
        }

        /// Makes a cookie from another source than a server, and checks it.
        init(
            name: [UInt8], value: [UInt8], domain: String, isHostOnly: Bool, path: String, expirySeconds: Int64?,
            isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite?
        ) throws {
            guard let host = CookieHost(domain.hasPrefix(".") ? String(domain.dropFirst()) : domain) else {
                throw CurlewError(.invalidRequest, "the domain of a cookie is no host")
            }
            self.init(
                unchecked: name, value, domain: host.name, isHostOnly: isHostOnly, path: path,
                expirySeconds: expirySeconds, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
            try check()
        }

        init(
            unchecked name: [UInt8], _ value: [UInt8], domain: String, isHostOnly: Bool, path: String,
            expirySeconds: Int64?, isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite?
        ) {
            nameBytes = name
            valueBytes = value
            self.domain = domain
            self.isHostOnly = isHostOnly
            self.path = path
            self.expirySeconds = expirySeconds
            self.isSecure = isSecure
            self.isHTTPOnly = isHTTPOnly
            self.sameSite = sameSite
        }
    }
}

extension CookieJar.Cookie: CustomStringConvertible {
    /// Name, domain and path. The value is omitted, so the text is safe to log.
    public var description: String { "\(name) for \(isHostOnly ? "" : ".")\(domain)\(path)" }
}

extension CookieJar.Cookie {
    /// The most bytes of name and value together (RFC 6265bis §5.6).
    static let sizeLimit = 4096
    /// The most bytes of an attribute, and so of a path.
    static let attributeLimit = 1024

    /// Applies the checks that a server's cookie has already passed.
    func check() throws {
        guard Self.isSound(nameBytes), Self.isSound(valueBytes), !nameBytes.contains(.equals) else {
            throw CurlewError(.invalidRequest, "the name or value of a cookie has a character that cannot be sent")
        }
        guard !(nameBytes.isEmpty && valueBytes.isEmpty), nameBytes.count + valueBytes.count <= Self.sizeLimit else {
            throw CurlewError(.invalidRequest, "a cookie is empty, or has more than \(Self.sizeLimit) bytes")
        }
        guard path.utf8.first == .slash, path.utf8.count <= Self.attributeLimit, Self.isSound(Array(path.utf8)) else {
            throw CurlewError(.invalidRequest, "the path of a cookie is not valid")
        }
        guard obeysPrefix else { throw CurlewError(.invalidRequest, "a cookie does not obey its prefix") }
        guard sameSite != SameSite.none || isSecure else {
            throw CurlewError(.invalidRequest, "a cookie for other sites must be secure")
        }
    }

    private static func isSound(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { SetCookie.isAllowed($0) && $0 != .semicolon }
            && bytes.first?.isBlank != true && bytes.last?.isBlank != true
    }

    /// True if the cookie obeys the prefix of its name (RFC 6265bis §5.7, steps 20 to 22). As in browsers, the case of
    /// the prefix is ignored, because some servers ignore it too. A value without a name must not begin with a prefix
    /// either.
    private var obeysPrefix: Bool {
        let start = nameBytes.isEmpty ? valueBytes[...] : nameBytes[...]
        if start.hasPrefix(ignoringCase: "__secure-") { return isSecure && !nameBytes.isEmpty }
        guard start.hasPrefix(ignoringCase: "__host-") else { return true }
        return isSecure && isHostOnly && path == "/" && !nameBytes.isEmpty
    }

    /// True if one cookie replaces the other in a jar.
    func isSame(as other: CookieJar.Cookie) -> Bool {
        nameBytes == other.nameBytes && path.hasSameBytes(as: other.path) && isHostOnly == other.isHostOnly
            && domain == other.domain
    }

    /// - Parameter now: Seconds since 1970.
    func isExpired(at now: Int64) -> Bool { expirySeconds.map { $0 <= now } ?? false }
}

extension CookieJar.Cookie {
    /// The longest lifetime of a cookie from now on: 400 days in seconds (RFC 6265bis §5.5).
    private static let lifetimeLimit: Int64 = 400 * 86_400

    /// The cookie that a server sets (RFC 6265bis §5.7); nil if the server must not set it.
    /// - Parameters:
    ///   - field: The parsed Set-Cookie field.
    ///   - origin: The origin of the response.
    ///   - now: Seconds since 1970.
    init?(_ field: SetCookie, from origin: CookieOrigin, now: Int64) {
        guard let domain = Self.domain(field.domain, of: origin.host) else { return nil }
        let path: String
        if case .given(let bytes) = field.path {
            path = String(decoding: bytes, as: UTF8.self)
        } else {
            path = origin.defaultPath
        }
        guard path.utf8.count <= Self.attributeLimit else { return nil }
        self.init(
            unchecked: field.name, field.value, domain: domain ?? origin.host.name, isHostOnly: domain == nil,
            path: path, expirySeconds: Self.expiry(of: field, now: now), isSecure: field.isSecure,
            isHTTPOnly: field.isHTTPOnly, sameSite: field.sameSite)
        guard origin.isSecure || !isSecure, sameSite != SameSite.none || isSecure else { return nil }
        // `__Host-` requires an explicit path.
        guard obeysPrefix, field.path != nil || !field.name[...].hasPrefix(ignoringCase: "__host-") else { return nil }
    }

    /// The domain of the cookie: the inner nil means the host alone, the outer nil means that the cookie is refused.
    private static func domain(_ asked: [UInt8]?, of host: CookieHost) -> String?? {
        guard let asked, !asked.isEmpty else { return .some(nil) }
        guard asked.allSatisfy({ $0 < 0x80 }) else { return nil }
        let domain = String(decoding: asked, as: UTF8.self)
        guard host.matches(domain) else { return nil }
        if host.isAddress { return .some(nil) }
        guard PublicSuffixes.contains(domain) else { return domain }
        return domain == host.name ? .some(nil) : nil
    }

    private static func expiry(of field: SetCookie, now: Int64) -> Int64? {
        if let age = field.maxAge { return age == 0 ? .min : now + min(age, lifetimeLimit) }
        return field.expires.map { min($0, now + lifetimeLimit) }
    }
}

extension CookieJar.Cookie: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, value, domain, isHostOnly, path, expirySeconds, isSecure, isHTTPOnly, sameSite
    }

    /// A value that is encoded as text if it is UTF-8, else as bytes.
    private struct Bytes: Codable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                bytes = Array(try container.decode(String.self).utf8)
            } catch {
                bytes = try container.decode([UInt8].self)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if let text = String(validating: bytes, as: UTF8.self) {
                try container.encode(text)
            } else {
                try container.encode(bytes)
            }
        }
    }

    /// Decodes a cookie.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest``, as the other initializer does, and the errors of
    ///   the decoder.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            name: try container.decode(Bytes.self, forKey: .name).bytes,
            value: try container.decode(Bytes.self, forKey: .value).bytes,
            domain: try container.decode(String.self, forKey: .domain),
            isHostOnly: try container.decode(Bool.self, forKey: .isHostOnly),
            path: try container.decode(String.self, forKey: .path),
            expirySeconds: try container.decodeIfPresent(Int64.self, forKey: .expirySeconds),
            isSecure: try container.decode(Bool.self, forKey: .isSecure),
            isHTTPOnly: try container.decode(Bool.self, forKey: .isHTTPOnly),
            sameSite: try container.decodeIfPresent(SameSite.self, forKey: .sameSite))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Bytes(nameBytes), forKey: .name)
        try container.encode(Bytes(valueBytes), forKey: .value)
        try container.encode(domain, forKey: .domain)
        try container.encode(isHostOnly, forKey: .isHostOnly)
        try container.encode(path, forKey: .path)
        try container.encodeIfPresent(expirySeconds, forKey: .expirySeconds)
        try container.encode(isSecure, forKey: .isSecure)
        try container.encode(isHTTPOnly, forKey: .isHTTPOnly)
        try container.encodeIfPresent(sameSite, forKey: .sameSite)
    }
}
