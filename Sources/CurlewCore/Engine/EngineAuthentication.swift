internal import CLibcurl
internal import FoundationEssentials

extension EasyHandle {
    /// Sets the credential for libcurl's own authentication, in a scheme of several steps.
    func apply(_ use: EngineCredential?) throws {
        guard let use else {
            try set(CURLOPT_USERNAME, nil as String?)
            try set(CURLOPT_PASSWORD, nil as String?)
            return try set(CURLOPT_HTTPAUTH, EngineAuthentication.basic.rawValue)
        }
        let isNTLM = use.scheme == .ntlm
        guard isNTLM ? Engine.hasNTLM : Engine.hasNegotiate else {
            throw CurlewError(.unsupported, "this libcurl was built without \(isNTLM ? "NTLM" : "GSS-API")")
        }
        var user = ""
        var password = ""
        if case .password(let name, let secret) = use.credential.kind { (user, password) = (name, secret) }
        try Credential.check(user + password)
        try set(CURLOPT_USERNAME, user)
        try set(CURLOPT_PASSWORD, password)
        try set(CURLOPT_HTTPAUTH, (isNTLM ? EngineAuthentication.ntlm : .negotiate).rawValue)
        // The connection is bound to the user from then on; libcurl keeps it until the steps have ended.
        try forbidReuse(true)
    }

    /// Sets the proxy, or the absence of a proxy, independently of the environment.
    func apply(_ proxy: Proxy?) throws {
        // Credentials are set separately, because the URL would be part of errors.
        let place = proxy.map { "\($0.scheme.rawValue)://\(LocalName.withoutDot($0.host)):\($0.port)" }
        // The name of a connection replaces this URL, except for https, whose host name is verified.
        try set(CURLOPT_PROXY, place ?? "")
        guard let proxy else {
            try set(CURLOPT_PROXYUSERNAME, nil as String?)
            return try set(CURLOPT_PROXYPASSWORD, nil as String?)
        }
        let isField = proxy.sendsBasicItself
        // Placeholders that contain nothing to decode, so that libcurl distinguishes the connections of users. The
        // field contains the real values.
        try set(CURLOPT_PROXYUSERNAME, isField ? proxy.user.map(Self.hex) : proxy.user)
        try set(CURLOPT_PROXYPASSWORD, isField ? proxy.password.map(Self.hex) : proxy.password)
        try set(CURLOPT_PROXYAUTH, EngineAuthentication(proxy.authentication).untilChallenged.rawValue)
        if proxy.isSOCKS { try set(CURLOPT_SOCKS5_AUTH, EngineAuthentication.basic.rawValue) }
        if proxy.scheme == .https { try applyTrust(proxy.anchorsPEM) }
    }

    private static func hex(_ text: String) -> String {
        text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func applyTrust(_ anchors: String?) throws {
        try set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        try set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        try set(CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        // libcurl would use the system's authorities in addition to the configured ones.
        try set(CURLOPT_PROXY_CAPATH, anchors == nil ? Engine.authorityFolder : nil)
        if let anchors {
            try set(CURLOPT_PROXY_CAINFO_BLOB, blob: Array(anchors.utf8))
        } else {
            try set(CURLOPT_PROXY_CAINFO_BLOB, pointer: nil)
        }
    }
}

extension Proxy {
    /// True if Curlew writes the credentials into a field. libcurl before 8.8.0 percent-decodes its credentials for
    /// each connection that it looks for: some would be changed, or end the field.
    var sendsBasicItself: Bool { user != nil && authentication == .basic && !isSOCKS }

    /// The field of the credentials (RFC 7617 §2), for ``sendsBasicItself``.
    var basicField: String {
        let credentials = Data("\(user ?? ""):\(password ?? "")".utf8).base64EncodedString()
        return "Proxy-Authorization: Basic \(credentials)"
    }

    /// - Throws: ``CurlewError`` with ``ErrorCode/unsupported`` for credentials that libcurl cannot use, or would
    ///   change.
    func checkSupport() throws {
        guard authentication != .negotiate || Engine.hasNegotiate else {
            throw CurlewError(.unsupported, "this libcurl was built without GSS-API")
        }
        guard !sendsBasicItself, Engine.decodesProxyCredentials else { return }
        let texts = [user, password].compactMap { $0.map { Array($0.utf8) } }
        let isChanged = texts.contains { text in
            text.indices.dropLast(2).contains {
                text[$0] == .percent && text[$0 + 1].isHexDigit && text[$0 + 2].isHexDigit
            }
        }
        guard !isChanged else {
            throw CurlewError(
                .unsupported, "libcurl before 8.8 cannot give a proxy a name or password with a percent-encoded byte")
        }
    }
}

/// libcurl's bits of authentication schemes (`CURLAUTH_…`). Swift does not import them, because they are written as
/// casts.
struct EngineAuthentication: Equatable, Sendable {
    let rawValue: Int
    private static let signature = EngineAuthentication(rawValue: 1 << 7)

    static let basic = EngineAuthentication(rawValue: 1 << 0)
    static let digest = EngineAuthentication(rawValue: 1 << 1)
    static let negotiate = EngineAuthentication(rawValue: 1 << 2)
    static let ntlm = EngineAuthentication(rawValue: 1 << 3)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ authentication: Proxy.Authentication) {
        self =
            switch authentication {
            case .basic: .basic
            case .digest: .digest
            case .negotiate: .negotiate
            }
    }

    /// The bits with which libcurl sends a request unchanged until there is a challenge.
    ///
    /// With Digest alone libcurl would first send the request without its body, and present the response to that if
    /// the proxy did not ask for credentials. With a choice of schemes it waits for the challenge. No challenge asks
    /// for the other scheme here (`CURLAUTH_AWS_SIGV4`).
    var untilChallenged: EngineAuthentication {
        self == .digest ? EngineAuthentication(rawValue: rawValue | Self.signature.rawValue) : self
    }
}
