import ArgumentParser
import Curlew
import Glibc

/// The session of a call, made from the options of the connection.
enum CallSession {
    /// - Parameters:
    ///   - cache: The cache; nil for a call without one.
    ///   - link: A link around each attempt.
    static func make(
        _ words: ConnectionWords, cache: HTTPCache? = nil, link: Link
    ) async throws -> HTTPSession {
        guard HTTPVersionPolicy.isHTTP3Available || !(words.usesHTTP3 || words.usesHTTP3Alone) else {
            throw CurlewError(.unsupported, "HTTP/3 needs libcurl 8.21 or newer with ngtcp2")
        }
        var configuration = SessionConfiguration()
        configuration.userAgent = nil
        configuration.versionPolicy = words.versionPolicy
        configuration.proxy = try proxy(words)
        configuration.route = try ConnectionRoute(words)
        configuration.security = try await security(words)
        // The limits are those of the command line, as with curl.
        configuration.timeouts = Timeouts(
            connectionWait: .seconds(300), connect: words.connectTime?.duration ?? .seconds(300),
            head: Timeouts.unlimited,
            idle: Timeouts.unlimited)
        var chain = StandardChain.Options()
        chain.redirects.policy = words.followsRedirects ? .follow(maximum: 50) : .manual
        chain.retry = words.retries > 0 ? Self.retry(words.retries) : nil
        if !words.isCompressed { chain.decoding = nil }
        chain.cache = cache
        return try HTTPSession(configuration: configuration, chain: nil) {
            StandardChain(chain)
            link
        }
    }

    private static func proxy(_ words: ConnectionWords) throws -> Proxy.Configuration {
        if words.noProxy == "*" { return .none }
        guard let text = words.proxy else { return words.noProxy.map(environment) ?? .environment }
        guard !text.isEmpty else { return .none }
        let proxy = try Proxy(text.contains("://") ? text : "http://\(text)")
        return .proxy(proxy, except: words.noProxy ?? "")
    }

    /// The proxies of the environment, with other hosts that are connected to directly.
    private static func environment(except hosts: String) -> Proxy.Configuration {
        var variables = ["no_proxy": hosts]
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            variables[name] = getenv(name).map { String(cString: $0) }
        }
        return .environment(variables)
    }

    /// The retries of `--retry`. curl also takes the status 500 for a temporary failure.
    private static func retry(_ count: Int) -> Retry {
        var retry = Retry(attempts: count + 1, budget: nil)
        retry.statuses.insert(.internalServerError)
        return retry
    }

    private static func security(_ words: ConnectionWords) async throws -> SecurityPolicy {
        var policy = SecurityPolicy.system
        if let path = words.authorities { policy = .anchors(pem: try await pem(path)) }
        if let certificate = words.certificate {
            // A colon separates a passphrase, unless it belongs to the path of a file.
            var (path, passphrase) = (certificate, String?.none)
            if !InputFile.exists(certificate), let colon = certificate.lastIndex(of: ":") {
                path = String(certificate[..<colon])
                passphrase = String(certificate[certificate.index(after: colon)...])
            }
            var key: String?
            if let file = words.key { key = try await pem(file) }
            policy.identity = try ClientIdentity(pem: try await pem(path), key: key, passphrase: passphrase)
        }
        if words.isInsecure {
            policy.allowsInvalidCertificates = true
            policy.validatesDomainName = false
        }
        return policy
    }

    private static func pem(_ path: String) async throws -> String {
        do {
            return try await InputFile.text(of: path)
        } catch let error as CurlewError {
            throw CurlewError(.invalidTLSSetting, error.message)
        }
    }
}

extension ConnectionWords {
    fileprivate var versionPolicy: HTTPVersionPolicy {
        if usesHTTP1 { return .http11 }
        if usesHTTP3 { return .http3 }
        if usesHTTP3Alone { return .http3Only }
        return assumesHTTP2 ? .http2PriorKnowledge : .negotiated
    }
}
