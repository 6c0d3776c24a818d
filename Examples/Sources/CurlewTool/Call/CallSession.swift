import ArgumentParser
import Curlew

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
        configuration.route = try route(words)
        configuration.security = try await security(words)
        // The limits are those of the command line, as with curl.
        configuration.timeouts = Timeouts(
            connectionWait: .seconds(300), connect: words.connectTime?.duration ?? .seconds(300),
            head: Timeouts.unlimited,
            idle: Timeouts.unlimited)
        var chain = StandardChain.Options()
        chain.redirects.policy = words.followsRedirects ? .follow(maximum: 50) : .manual
        chain.retry = words.retries > 0 ? Retry(attempts: words.retries + 1, budget: nil) : nil
        if !words.isCompressed { chain.decoding = nil }
        chain.cache = cache
        return try HTTPSession(configuration: configuration, chain: nil) {
            StandardChain(chain)
            link
        }
    }

    private static func proxy(_ words: ConnectionWords) throws -> Proxy.Configuration {
        if words.noProxy == "*" { return .none }
        guard let text = words.proxy else { return .environment }
        guard !text.isEmpty else { return .none }
        let proxy = try Proxy(text.contains("://") ? text : "http://\(text)")
        return .proxy(proxy, except: words.noProxy ?? "")
    }

    private static func route(_ words: ConnectionWords) throws -> ConnectionRoute {
        var route = ConnectionRoute()
        for text in words.resolve {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, !parts[0].isEmpty, let port = Int(parts[1]), !parts[2].isEmpty else {
                throw ValidationError("--resolve is HOST:PORT:ADDRESS, not \(printable(text)).")
            }
            let addresses = parts[2].split(separator: ",").map { $0.trimmingBrackets }
            route.hosts.append(.init(host: String(parts[0]), port: port, addresses: addresses))
        }
        for text in words.connectTo {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 4, !parts[2].isEmpty, let port = Int(parts[3]),
                parts[1].isEmpty || Int(parts[1]) != nil
            else {
                throw ValidationError("--connect-to is HOST:PORT:HOST:PORT, not \(printable(text)).")
            }
            route.redirections.append(
                .init(host: parts[0].isEmpty ? nil : parts[0], port: Int(parts[1]), toHost: parts[2], toPort: port))
        }
        route.unixSocket = words.unixSocket
        return route
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

extension Substring {
    /// An address without the brackets of IPv6.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}
