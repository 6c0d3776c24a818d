/// A host in the form for comparing (RFC 6265bis §5.1.2): in lower case, with names outside ASCII in their `xn--` form.
struct CookieHost {
    let name: String

    /// Nil for an invalid host.
    init?(_ host: String) {
        guard let name = Self.canonical(host) else { return nil }
        // A name of this machine with a final dot equals the name without it.
        self.name = LocalName.withoutDot(name)
    }

    private static func canonical(_ host: String) -> String? {
        if host.utf8.allSatisfy(isPlain) { return host.isEmpty || host.utf8.count > 1024 ? nil : host }
        let isASCII = host.utf8.allSatisfy { $0 < 0x80 }
        guard host.utf8.count <= 1024, let ascii = isASCII ? host.lowercased() : InternationalName.ascii(host) else {
            return nil
        }
        if ascii.hasPrefix("["), ascii.hasSuffix("]"), ascii.utf8.count > 2 {
            return ascii.utf8.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == .colon || isPlain($0) }
                ? ascii : nil
        }
        return ascii.utf8.allSatisfy(isPlain) ? ascii : nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") || byte.isDigit || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }

    /// True for an address, which has no subdomains. As in browsers, a last label that is a number makes the host an
    /// address, because unusual spellings of IPv4 addresses end in a number too.
    var isAddress: Bool {
        if name.utf8.first == .openBracket { return true }
        guard let last = name.utf8.split(separator: UInt8(ascii: ".")).last else { return false }
        if last.starts(with: "0x".utf8) { return last.dropFirst(2).allSatisfy(\.isHexDigit) }
        return last.allSatisfy(\.isDigit)
    }

    /// True if the host is the domain or a subdomain of it (RFC 6265bis §5.1.3).
    /// - Parameter domain: A domain in the same form.
    func matches(_ domain: String) -> Bool {
        name == domain || Self.isBeneath(name, domain) && !isAddress
    }

    static func isBeneath(_ name: String, _ domain: String) -> Bool {
        name.utf8.count > domain.utf8.count + 1 && name.hasSuffix(domain)
            && name.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".")
    }
}

/// The parts of a URI that determine its cookies. The port is not one of them.
struct CookieOrigin {
    let host: CookieHost
    /// The path, percent-encoded as it is sent.
    let path: String
    /// True for https. Other connections are not secure, not even to `localhost`.
    let isSecure: Bool

    /// Nil if the host is invalid.
    init?(_ uri: CurlewURI) {
        guard let host = CookieHost(uri.host) else { return nil }
        self.host = host
        path = uri.path
        isSecure = uri.scheme == "https"
    }

    /// The default path of a cookie: the URI's path up to the last slash (RFC 6265bis §5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: .slash), slash > path.utf8.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// True if a path is the cookie's path or a subpath of it (RFC 6265bis §5.1.4).
    static func isPath(_ path: String, within cookiePath: String) -> Bool {
        let path = path.utf8
        let prefix = cookiePath.utf8
        guard path.count > prefix.count else { return path.elementsEqual(prefix) }
        guard path.starts(with: prefix) else { return false }
        return prefix.last == .slash || path.dropFirst(prefix.count).first == .slash
    }

    /// True if the cookie is sent to the origin (RFC 6265bis §5.8.3).
    func receives(_ cookie: CookieJar.Cookie) -> Bool {
        (cookie.isHostOnly ? host.name == cookie.domain : host.matches(cookie.domain))
            && (isSecure || !cookie.isSecure)
            && Self.isPath(path, within: cookie.path)
    }
}
