extension Cookie {
    /// No cookie lasts longer from now on: 400 days in seconds (RFC 6265bis §5.5).
    static let lifetimeLimit: Int64 = 400 * 86_400

    /// The cookie that a server sets (RFC 6265bis §5.7); nil if it may not.
    /// - Parameters:
    ///   - field: What it sent.
    ///   - origin: Where it came from.
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
        // `__Host-` wants the path said, not only meant.
        guard obeysPrefix, field.path != nil || !field.name[...].hasPrefix(ignoringCase: "__host-") else { return nil }
    }

    /// The domain that is asked for: within is nil for the host alone, and nil altogether means no cookie.
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
