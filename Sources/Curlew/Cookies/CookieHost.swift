/// A host in the form that hosts are compared in (RFC 6265bis §5.1.2): lower case, other scripts as `xn--`.
struct CookieHost {
    let name: String

    /// Nil for what is no host.
    init?(_ host: String) {
        guard let name = Self.canonical(host) else { return nil }
        // The dot makes no other host of a name of this machine.
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

    /// True if it is an address, which has nothing beneath it. As browsers have it, a last label that is a number makes
    /// one: that is how odd spellings of IPv4 addresses end, too.
    var isAddress: Bool {
        if name.utf8.first == .openBracket { return true }
        guard let last = name.utf8.split(separator: UInt8(ascii: ".")).last else { return false }
        if last.starts(with: "0x".utf8) { return last.dropFirst(2).allSatisfy(\.isHexDigit) }
        return last.allSatisfy(\.isDigit)
    }

    /// RFC 6265bis §5.1.3: the same name, or one beneath it.
    /// - Parameter domain: In the same form.
    func matches(_ domain: String) -> Bool {
        name == domain || Self.isBeneath(name, domain) && !isAddress
    }

    static func isBeneath(_ name: String, _ domain: String) -> Bool {
        name.utf8.count > domain.utf8.count + 1 && name.hasSuffix(domain)
            && name.utf8.dropLast(domain.utf8.count).last == UInt8(ascii: ".")
    }
}

/// The parts of a URI that decide about cookies. The port does not.
struct CookieOrigin {
    let host: CookieHost
    /// Percent-encoded, as it is sent.
    let path: String
    /// True if it is https; plain connections are not secure, to `localhost` neither.
    let isSecure: Bool

    /// Nil if the host has no form to compare.
    init?(_ uri: CurlewURI) {
        guard let host = CookieHost(uri.host) else { return nil }
        self.host = host
        path = uri.path
        isSecure = uri.scheme == "https"
    }

    /// The path of a cookie that names none: up to the last slash (RFC 6265bis §5.1.4).
    var defaultPath: String {
        guard let slash = path.utf8.lastIndex(of: .slash), slash > path.utf8.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// True if a path is that of a cookie or beneath it (RFC 6265bis §5.1.4).
    static func isPath(_ path: String, within cookiePath: String) -> Bool {
        let path = path.utf8
        let prefix = cookiePath.utf8
        guard path.count > prefix.count else { return path.elementsEqual(prefix) }
        guard path.starts(with: prefix) else { return false }
        return prefix.last == .slash || path.dropFirst(prefix.count).first == .slash
    }

    /// True if the cookie goes to it (RFC 6265bis §5.8.3).
    func receives(_ cookie: CookieJar.Cookie) -> Bool {
        (cookie.isHostOnly ? host.name == cookie.domain : host.matches(cookie.domain))
            && (isSecure || !cookie.isSecure)
            && Self.isPath(path, within: cookie.path)
    }
}
