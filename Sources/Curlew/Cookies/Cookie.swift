/// A cookie as a ``CookieJar`` keeps it (RFC 6265bis §5.7).
///
/// Every value of this type may be sent as it stands: its name and value hold no control characters, together they have at
/// most 4,096 bytes, and its prefix, `__Host-` or `__Secure-`, is obeyed. Its description has no value in it.
public struct Cookie: Sendable, Hashable {
    /// When a cookie goes along with requests that another site caused. Curlew has no sites and sends all; this is what the
    /// server said, for whoever has.
    public enum SameSite: String, Sendable, Hashable, Codable {
        /// Never.
        case strict
        /// With navigation by a safe method.
        case lax
        /// Always. Such a cookie is for secure connections alone.
        case none
    }

    /// The bytes of the name; empty for a cookie that has none.
    public let nameBytes: [UInt8]
    /// The bytes of the value.
    public let valueBytes: [UInt8]
    /// The host that it goes to, in lower case, with `xn--` for what is not ASCII; without a leading dot.
    public let domain: String
    /// Whether it goes to that host alone and not to those beneath it.
    public let isHostOnly: Bool
    /// The path that it goes to, and to all beneath; it begins with a slash.
    public let path: String
    /// When it expires, in seconds since the beginning of 1970, UTC; nil for a cookie that ends with the session.
    public let expirySeconds: Int64?
    /// Whether it goes over https alone.
    public let isSecure: Bool
    /// Whether it is kept from scripts. Curlew has none; this is what the server said.
    public let isHTTPOnly: Bool
    /// What the server said of other sites; nil if nothing, which browsers take for `lax`.
    public let sameSite: SameSite?

    /// The name; what is not UTF-8 is repaired.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }
    /// The value; what is not UTF-8 is repaired.
    public var value: String { String(decoding: valueBytes, as: UTF8.self) }

    /// Makes a cookie.
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    ///   - domain: The host. A leading dot is passed over.
    ///   - isHostOnly: Whether it goes to that host alone.
    ///   - path: The path.
    ///   - expirySeconds: When it expires, in seconds since 1970.
    ///   - isSecure: Whether it goes over https alone.
    ///   - isHTTPOnly: Whether it is kept from scripts.
    ///   - sameSite: What holds for other sites.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` if it could not have come from a server: a control character
    ///   or a semicolon, `=` in the name, blanks around name or value, more than 4,096 bytes of both, a path that does not
    ///   begin with a slash or has more than 1,024 bytes, a domain that is no host, a prefix that is not obeyed, or
    ///   ``SameSite/none`` without `isSecure`.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        expirySeconds: Int64? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil
    ) throws {
        try self.init(
            name: Array(name.utf8), value: Array(value.utf8), domain: domain, isHostOnly: isHostOnly, path: path,
            expirySeconds: expirySeconds, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
    }

    /// Checks what comes from elsewhere than a server.
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

extension Cookie: CustomStringConvertible {
    /// Name, domain and path; never the value, so that it may be logged.
    public var description: String { "\(name) for \(isHostOnly ? "" : ".")\(domain)\(path)" }
}
