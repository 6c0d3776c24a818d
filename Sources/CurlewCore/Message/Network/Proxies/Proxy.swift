/// A proxy: its protocol, its address and its credentials.
///
/// ```swift
/// let proxy = try Proxy("http://proxy.example.com:3128").authenticated(user: "curlew", password: "secret")
/// ```
/// The description never contains the credentials; the encoded form does.
public struct Proxy: Sendable, Hashable, Codable {
    /// The protocol of a proxy.
    public enum Scheme: String, Sendable, Hashable, Codable, CaseIterable {
        /// HTTP: `http` URIs in absolute form, `https` URIs through CONNECT (RFC 9110 §9.3.6).
        case http
        /// HTTP over TLS to the proxy. The proxy's certificate must be valid for its host.
        case https
        /// SOCKS 4: the target's name is resolved locally, to an IPv4 address.
        case socks4
        /// SOCKS 4a: the proxy resolves the target's name.
        case socks4a
        /// SOCKS 5 (RFC 1928): the target's name is resolved locally.
        case socks5
        /// SOCKS 5: the proxy resolves the target's name.
        case socks5h
    }

    /// The method of authentication to a proxy.
    public enum Authentication: String, Sendable, Hashable, Codable {
        /// User and password with every request or tunnel, without a challenge (RFC 7617); for SOCKS in the form of RFC
        /// 1929.
        case basic
        /// A digest in answer to a challenge (RFC 7616).
        case digest
        /// A Kerberos ticket (RFC 4559), if libcurl was built with GSS-API.
        case negotiate
    }

    /// The protocol of the proxy.
    public let scheme: Scheme
    /// The name or address of the proxy; an IPv6 address keeps its brackets.
    public let host: String
    /// The port of the proxy.
    public let port: Int
    /// The user's name.
    public private(set) var user: String?
    /// The password.
    public private(set) var password: String?
    /// The method of authentication.
    public private(set) var authentication = Authentication.basic
    /// The trusted certificate authorities, in PEM, for a proxy with the scheme `https`; nil means the system's.
    public var anchorsPEM: String?

    init(scheme: Scheme, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The same proxy with credentials. They are sent to the proxy only.
    ///
    /// With ``Authentication/negotiate``, an empty user and password stand for the process's Kerberos ticket.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a control character, for a colon in the user's
    ///   name (RFC 7617 §2) except with SOCKS, and for more than 255 bytes with SOCKS (RFC 1929).
    ///   ``ErrorCode/unsupported`` for a method that SOCKS lacks. A libcurl without GSS-API makes the request fail.
    public func authenticated(
        user: String, password: String, by authentication: Authentication = .basic
    ) throws -> Proxy {
        guard !(user + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlewError(.invalidRequest, "the proxy's credentials hold a control character")
        }
        if isSOCKS {
            guard authentication == .basic else {
                throw CurlewError(.unsupported, "a SOCKS proxy takes user and password, and nothing else")
            }
            guard user.utf8.count <= 255, password.utf8.count <= 255 else {
                throw CurlewError(.invalidRequest, "the proxy's credentials have more than 255 bytes")
            }
        } else if user.utf8.contains(.colon) {
            throw CurlewError(.invalidRequest, "a user's name with a colon cannot be sent to a proxy")
        }
        var copy = self
        copy.user = user
        copy.password = password
        copy.authentication = authentication
        return copy
    }
}

extension Proxy {
    /// True if all parts have the same bytes, credentials included: connections and stored responses of different
    /// proxies are never mixed.
    public static func == (one: Proxy, other: Proxy) -> Bool {
        one.scheme == other.scheme && one.host.hasSameBytes(as: other.host) && one.port == other.port
            && one.user.hasSameBytes(as: other.user) && one.password.hasSameBytes(as: other.password)
            && one.authentication == other.authentication && one.anchorsPEM.hasSameBytes(as: other.anchorsPEM)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        host.hashBytes(into: &hasher)
        hasher.combine(port)
        user?.hashBytes(into: &hasher)
        password?.hashBytes(into: &hasher)
    }
}

extension Proxy {
    private enum CodingKeys: String, CodingKey {
        case scheme, host, port, user, password, authentication, anchorsPEM
    }

    /// Decodes a proxy and checks it like a new one.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` for an invalid host or port, the errors of
    ///   ``authenticated(user:password:by:)``, and those of the decoder.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let scheme = try container.decode(Scheme.self, forKey: .scheme)
        let host = try container.decode(String.self, forKey: .host)
        let port = try container.decode(Int.self, forKey: .port)
        var proxy = try Proxy("\(scheme.rawValue)://\(host):\(port)")
        guard proxy.host == host, proxy.port == port, proxy.user == nil else {
            throw CurlewError(.invalidURL, "the host of a proxy is not valid")
        }
        if let user = try container.decodeIfPresent(String.self, forKey: .user) {
            proxy = try proxy.authenticated(
                user: user, password: try container.decodeIfPresent(String.self, forKey: .password) ?? "",
                by: try container.decode(Authentication.self, forKey: .authentication))
        }
        proxy.anchorsPEM = try container.decodeIfPresent(String.self, forKey: .anchorsPEM)
        self = proxy
    }

    var isSOCKS: Bool { scheme != .http && scheme != .https }

    /// True if the target's name is resolved locally, without any callback of libcurl.
    var resolvesHere: Bool { scheme == .socks4 || scheme == .socks5 }

    /// True if libcurl needs a challenge before it can authenticate.
    var awaitsChallenge: Bool { user != nil && authentication != .basic }
}

extension Proxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Scheme, host and port.
    public var description: String { "\(scheme.rawValue)://\(host):\(port)" }
    public var debugDescription: String { description }
    /// The mirror omits the credentials, so `dump` does not show them.
    public var customMirror: Mirror {
        Mirror(self, children: ["scheme": scheme, "host": host, "port": port, "hasCredentials": user != nil])
    }
}

extension Proxy {
    /// Parses a proxy in the form that tools use: `http://user:password@proxy.example.com:3128`.
    ///
    /// The default scheme is `http`. The default port is 443 for `https` and 1080 for the others, as with curl. User
    /// and password are percent-decoded. After the authority, only a single slash is allowed.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``, without credentials
    ///   in the message, and the errors of ``authenticated(user:password:by:)``.
    public init(_ url: String) throws {
        let (scheme, rest) = try Self.scheme(of: url)
        var authority = rest
        if let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" || $0 == "#" }) {
            guard rest[end...] == "/" else {
                throw CurlewError(.invalidURL, "the URL of a proxy has text after its port")
            }
            authority = rest[..<end]
        }
        let at = authority.utf8.lastIndex(of: .at)
        let place = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority
        let uri: CurlewURI
        do {
            uri = try CurlewURI("http://\(place)/")
        } catch let error as CurlewError {
            throw CurlewError(.invalidURL, "the URL of a proxy cannot be read: \(error.message)")
        }
        self.init(
            scheme: scheme, host: uri.host,
            port: uri.layout.port.map(Int.init) ?? (scheme == .https ? 443 : 1080))
        if let at { self = try Self.authenticated(self, by: authority[..<at]) }
    }

    private static func scheme(of url: String) throws -> (Scheme, Substring) {
        // Bytes are searched, because a user's name may begin with a combining mark.
        guard let range = url.utf8.firstRange(of: "://".utf8) else { return (.http, url[...]) }
        let name = url[..<range.lowerBound].lowercased()
        guard let scheme = Scheme(rawValue: name) else {
            let known = Scheme.allCases.map(\.rawValue).joined(separator: ", ")
            let shown = URIParser.printable(name)
            throw CurlewError(.unsupportedScheme, "a proxy's scheme is one of \(known), not \"\(shown)\"")
        }
        return (scheme, url[range.upperBound...])
    }

    private static func authenticated(_ proxy: Proxy, by information: Substring) throws -> Proxy {
        // Bytes are searched, because a password may begin with a combining mark.
        guard let colon = information.utf8.firstIndex(of: .colon) else {
            return try proxy.authenticated(user: decoded(information), password: "")
        }
        let password = information[information.utf8.index(after: colon)...]
        return try proxy.authenticated(user: decoded(information[..<colon]), password: decoded(password))
    }

    private static func decoded(_ text: Substring) throws -> String {
        guard let bytes = PercentDecoding.bytes(of: text, isStrict: true) else {
            throw CurlewError(.invalidURL, "the credentials of a proxy are not percent-encoded correctly")
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw CurlewError(.invalidURL, "the credentials of a proxy are not UTF-8")
        }
        return decoded
    }
}
