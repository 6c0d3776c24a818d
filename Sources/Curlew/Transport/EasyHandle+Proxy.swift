internal import CLibcurl

extension EasyHandle {
    /// Sets the proxy, or that there is none, whatever the environment says.
    func apply(_ proxy: Proxy?) throws {
        guard proxy?.authentication != .negotiate || Engine.hasNegotiate else {
            throw CurlewError(.unsupported, "this libcurl was built without GSS-API")
        }
        // Credentials stand apart, as the URL would be part of errors.
        try set(CURLOPT_PROXY, proxy.map { "\($0.scheme.rawValue)://\($0.host):\($0.port)" } ?? "")
        try set(CURLOPT_PROXYUSERNAME, proxy?.user)
        try set(CURLOPT_PROXYPASSWORD, proxy?.password)
        guard let proxy else { return }
        try set(CURLOPT_PROXYAUTH, EngineAuthentication(proxy.authentication).rawValue)
        if proxy.isSOCKS { try set(CURLOPT_SOCKS5_AUTH, EngineAuthentication.basic.rawValue) }
        if proxy.scheme == .https { try applyTrust(proxy.anchorsPEM) }
    }

    private func applyTrust(_ anchors: String?) throws {
        try set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        try set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        try set(CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        // The folder of the system's authorities would be looked at beside ours.
        try set(CURLOPT_PROXY_CAPATH, anchors == nil ? Engine.authorityFolder : nil)
        if let anchors {
            try set(CURLOPT_PROXY_CAINFO_BLOB, blob: Array(anchors.utf8))
        } else {
            try set(CURLOPT_PROXY_CAINFO_BLOB, pointer: nil)
        }
    }
}

/// libcurl's bits for ways to authenticate (`CURLAUTH_…`), which Swift does not import, as they are written as casts.
struct EngineAuthentication: Equatable, Sendable {
    let rawValue: Int

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
}
