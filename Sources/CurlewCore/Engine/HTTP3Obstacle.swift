extension ConnectionOptions {
    /// The reason why HTTP/3 cannot carry a request; nil if it can.
    func obstacleToHTTP3(for request: borrowing CurlewRequest, _ uri: CurlewURI) -> String? {
        guard Engine.hasHTTP3 else {
            return "HTTP/3 needs libcurl 8.21 or newer with ngtcp2; this is \(Engine.versionText)"
        }
        if !uri.layout.isSecure { return "HTTP/3 needs https" }
        if hasProxy { return "HTTP/3 goes through no proxy" }
        if values.route.unixSocket != nil { return "HTTP/3 needs UDP, and the route is a Unix socket" }
        if !request.trailers.isEmpty { return "trailers are sent over HTTP/1.1 only" }
        if request.options.isAnySet, request.options.upgradeProtocol != nil { return "an upgrade needs HTTP/1.1" }
        if request.options.engineCredential != nil { return "Negotiate and NTLM need HTTP/1.1" }
        let rules = trust.rules(for: HostName(host: uri.host) ?? .name(""))
        return rules.policy.maximumTLSVersion == .tls13
            ? nil : "HTTP/3 needs TLS 1.3, which the security policy excludes"
    }
}

extension HTTPVersionPolicy {
    /// True if HTTP/3 can be used: the loaded libcurl is 8.21 or newer, and built with ngtcp2.
    public static var isHTTP3Available: Bool { Engine.hasHTTP3 }

    /// True if HTTP/3 is the first choice.
    var prefersHTTP3: Bool { kind == .http3 || kind == .http3Only }
}
