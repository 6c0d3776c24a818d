extension Proxy {
    /// Reads a proxy as tools write it: `http://user:password@proxy.example.com:3128`.
    ///
    /// Without a scheme it is `http`. Without a port it is 443 for `https` and 1080 for the others, as with curl. User and
    /// password are percent-decoded. Behind the authority a single slash may stand, and nothing else.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL``, or ``ErrorCode/unsupportedScheme``; the message holds no
    ///   credentials. What ``authenticated(user:password:by:)`` throws as well.
    public init(_ url: String) throws {
        let (scheme, rest) = try Self.scheme(of: url)
        var authority = rest
        if let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" || $0 == "#" }) {
            guard rest[end...] == "/" else {
                throw CurlewError(.invalidURL, "the URL of a proxy has something behind its port")
            }
            authority = rest[..<end]
        }
        let at = authority.utf8.lastIndex(of: .at)
        let place = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority
        let uri: URI
        do {
            uri = try URI("http://\(place)/")
        } catch let error as CurlewError {
            throw CurlewError(.invalidURL, "the URL of a proxy cannot be read: \(error.message)")
        }
        self.init(
            scheme: scheme, host: uri.host,
            port: uri.layout.port.map(Int.init) ?? (scheme == .https ? 443 : 1080))
        if let at { self = try Self.authenticated(self, by: authority[..<at]) }
    }

    private static func scheme(of url: String) throws -> (Scheme, Substring) {
        guard let range = url.firstRange(of: "://") else { return (.http, url[...]) }
        let name = url[..<range.lowerBound].lowercased()
        guard let scheme = Scheme(rawValue: name) else {
            let known = Scheme.allCases.map(\.rawValue).joined(separator: ", ")
            let shown = URIParser.printable(name)
            throw CurlewError(.unsupportedScheme, "a proxy's scheme is one of \(known), not \"\(shown)\"")
        }
        return (scheme, url[range.upperBound...])
    }

    private static func authenticated(_ proxy: Proxy, by information: Substring) throws -> Proxy {
        let parts = information.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let user = try decoded(parts[0])
        return try proxy.authenticated(user: user, password: parts.count > 1 ? try decoded(parts[1]) : "")
    }

    private static func decoded(_ text: Substring) throws -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else {
                throw CurlewError(.invalidURL, "the credentials of a proxy are not percent-encoded as they should be")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw CurlewError(.invalidURL, "the credentials of a proxy are not UTF-8")
        }
        return decoded
    }
}
