import Curlew

/// The code of AddressPolicies.md, Connections.md, Proxies.md and Authenticating.md, so that it compiles.
/// ``DocumentationTests`` compares them.
enum ConnectionSnippets {
    // MARK: AddressPolicies.md

    private func fetcher() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.addressPolicy = .publicOnly.denying([try IPNetwork("192.5.6.0/24")])
        let fetcher = try HTTPSession(configuration: configuration)
        return fetcher
    }

    private func inside(_ api: HTTPSession) async throws -> CurlewResponse {
        var options = RequestOptions()
        options.addressPolicy = .only([try IPNetwork("10.20.0.0/16"), try IPNetwork("2001:db8:7::/48")])
        let response = try await api.get("internal/status", options: options)
        return response
    }

    private func portsAndSchemes() -> AddressPolicy {
        let policy = AddressPolicy.publicOnly.ports(443, 8443).httpsOnly()
        return policy
    }

    // MARK: Connections.md

    private func healthy() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.connections.maximumAge = .seconds(300)
        configuration.connections.silenceTimeout = .seconds(90)
        configuration.connections.keepAliveInterval = .seconds(30)
        configuration.connections.nameLifetime = .seconds(20)
        let api = try HTTPSession(baseURL: "https://api.example.com/v1/", configuration: configuration)
        return api
    }

    // MARK: Proxies.md

    private func proxied() throws -> (SessionConfiguration, RequestOptions) {
        let proxy = try Proxy("http://proxy.example.com:3128").authenticated(user: "curlew", password: "secret")
        var configuration = SessionConfiguration()
        configuration.proxy = .proxy(proxy, except: "localhost, .example.com, 10.0.0.0/8")

        configuration.proxy = .rules([
            Proxy.Rule("intranet.example.com", proxy: nil),
            Proxy.Rule(".example.com:8443", proxy: try Proxy("socks5h://127.0.0.1:1080")),
            Proxy.Rule("*", proxy: proxy),
        ])
        var options = RequestOptions()
        options.proxy = Proxy.Configuration.none
        return (configuration, options)
    }

    // MARK: Authenticating.md

    private func authenticated() throws -> HTTPSession {
        let password = Credential.password(user: "curlew", password: "secret")
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            ChallengeAuthentication(
                try Credential.Scoped("https://api.example.com", realm: "birds", password),
                try Credential.Scoped("https://files.example.com", .bearer("t0ken"), isPreemptive: true))
        }
        return api
    }

    private func asking(
        _ prompt: @escaping @Sendable (String) async throws -> (user: String, password: String)?
    ) -> ChallengeAuthentication {
        let asking = ChallengeAuthentication { attempt in
            guard attempt.failureCount < 3 else { return .refuse }
            guard let answer = try await prompt(attempt.realm) else { return .fail(CancellationError()) }
            return .use(.password(user: answer.user, password: answer.password))
        }
        return asking
    }

    struct Token: Codable, Sendable {
        var accessToken: String
        var refreshToken: String?
        var expiresIn: Int
    }

    struct Grant: Codable, Sendable { var refreshToken: String? }

    private func renewing(_ login: HTTPSession) throws -> HTTPSession {
        let link = try CredentialRenewal(
            for: "https://api.example.com",
            lifetime: { (token: Token) in .seconds(token.expiresIn) },
            apply: { token, request in request.fields[.authorization] = "Bearer \(token.accessToken)" },
            renew: { last in
                try await login.post("token", .json(Grant(refreshToken: last?.refreshToken)), as: Token.self)
            }
        )
        let api = try HTTPSession(baseURL: "https://api.example.com/") { link }
        return api
    }
}
