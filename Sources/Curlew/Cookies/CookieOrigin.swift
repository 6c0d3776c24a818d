/// What of a URI decides about cookies. The port does not.
struct CookieOrigin {
    let host: CookieHost
    /// Percent-encoded, as it is sent.
    let path: String
    /// Whether it is https; plain connections are not secure, to `localhost` neither.
    let isSecure: Bool

    /// Nil if the host has no form to compare.
    init?(_ uri: URI) {
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

    /// Whether a path is that of a cookie or beneath it (RFC 6265bis §5.1.4).
    static func isPath(_ path: String, within cookiePath: String) -> Bool {
        let path = path.utf8
        let prefix = cookiePath.utf8
        guard path.count > prefix.count else { return path.elementsEqual(prefix) }
        guard path.starts(with: prefix) else { return false }
        return prefix.last == .slash || path.dropFirst(prefix.count).first == .slash
    }

    /// Whether the cookie goes to it (RFC 6265bis §5.8.3).
    func receives(_ cookie: Cookie) -> Bool {
        (cookie.isHostOnly ? host.name == cookie.domain : host.matches(cookie.domain))
            && (isSecure || !cookie.isSecure)
            && Self.isPath(path, within: cookie.path)
    }
}
