internal import Curlew

/// The value of the field `auth`.
struct Credentials: Sendable {
    private let scheme: Credential.Scheme
    private let credential: Credential

    /// - Throws: ``LineProblem`` for an unknown scheme, and for superfluous or missing members.
    init(_ field: FieldValue) throws {
        guard case .object(let members) = field.value else { throw field.wrong("an object") }
        var texts: [String: String] = [:]
        for member in members {
            texts[member.name] = try FieldValue(.init("auth.\(member.name)", member.value)).string()
        }
        guard let scheme = texts.removeValue(forKey: "scheme") else { throw field.wrong("an object with a scheme") }
        switch scheme {
        case "basic", "digest":
            guard let user = texts.removeValue(forKey: "user"), let password = texts.removeValue(forKey: "password"),
                texts.isEmpty
            else { throw field.wrong("an object with scheme, user and password") }
            credential = .password(user: user, password: password)
        case "bearer":
            guard let token = texts.removeValue(forKey: "token"), texts.isEmpty else {
                throw field.wrong("an object with scheme and token")
            }
            credential = .bearer(token)
        default: throw LineProblem.unsupported("auth \(scheme)")
        }
        self.scheme = Credential.Scheme(rawValue: scheme)
    }

    /// The authentication link for the origin of a URL only. Basic and Bearer are sent without a challenge.
    func link(for url: String) throws -> ChallengeAuthentication {
        var link = ChallengeAuthentication(
            try Credential.Scoped(url, credential, isPreemptive: scheme != .digest))
        link.schemes = [scheme]
        return link
    }
}

/// The credentials of the field `proxy_auth`.
struct ProxyLogin: Sendable {
    private let user: String
    private let password: String
    private let authentication: Proxy.Authentication

    /// - Throws: ``LineProblem`` for an unknown scheme, and for missing or unknown members.
    init(_ field: FieldValue) throws {
        var texts: [String: String] = [:]
        for (name, member) in try field.members() { texts[name] = try member.string() }
        guard let scheme = texts.removeValue(forKey: "scheme"), let user = texts.removeValue(forKey: "user"),
            let password = texts.removeValue(forKey: "password"), texts.isEmpty
        else { throw field.wrong("an object with scheme, user and password") }
        switch scheme {
        case "basic": authentication = .basic
        case "digest": authentication = .digest
        default: throw LineProblem.unsupported("proxy_auth \(scheme)")
        }
        (self.user, self.password) = (user, password)
    }

    /// The proxy with these credentials.
    func proxy(_ url: String) throws -> Proxy {
        try Proxy(url).authenticated(user: user, password: password, by: authentication)
    }
}
