internal import Curlew
internal import CurlewCredentials

/// The value of the field `auth`.
enum Credentials: Sendable {
    /// Credentials that answer a challenge; Basic and Bearer are sent without one.
    case challenge(Credential.Scheme, Credential)
    /// A token of OAuth 2 for the client itself.
    case oauth(OAuthSettings)
    /// A signature of AWS.
    case aws(AWSCredential, AWSSignature)

    /// The values that determine a token of OAuth 2.
    struct OAuthSettings: Hashable, Sendable {
        let endpoint: String
        let client: String
        let secret: String?
        let scopes: [String]
    }

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
            guard let user = texts.removeValue(forKey: "user"), let password = texts.removeValue(forKey: "password")
            else { throw field.wrong("an object with scheme, user and password") }
            self = .challenge(Credential.Scheme(rawValue: scheme), .password(user: user, password: password))
        case "bearer":
            guard let token = texts.removeValue(forKey: "token") else {
                throw field.wrong("an object with scheme and token")
            }
            self = .challenge(.bearer, .bearer(token))
        case "oauth":
            guard let endpoint = texts.removeValue(forKey: "token_url"),
                let client = texts.removeValue(forKey: "client_id")
            else { throw field.wrong("an object with scheme, token_url and client_id") }
            let scopes = texts.removeValue(forKey: "scope")?.split(separator: " ").map(String.init) ?? []
            self = .oauth(
                OAuthSettings(
                    endpoint: endpoint, client: client, secret: texts.removeValue(forKey: "client_secret"),
                    scopes: scopes))
        case "sigv4":
            guard let user = texts.removeValue(forKey: "user"), let password = texts.removeValue(forKey: "password"),
                let region = texts.removeValue(forKey: "region"), let service = texts.removeValue(forKey: "service")
            else { throw field.wrong("an object with scheme, user, password, region and service") }
            self = .aws(
                try AWSCredential(
                    accessKey: user, secretKey: password, sessionToken: texts.removeValue(forKey: "token")),
                try AWSSignature(service: service, region: region))
        default: throw LineProblem.unsupported("auth \(scheme)")
        }
        guard texts.isEmpty else { throw field.wrong("an object without members of other schemes") }
    }

    /// The answer to challenges of the origin of a URL only.
    func authentication(for url: String) throws -> ChallengeAuthentication? {
        guard case .challenge(let scheme, let credential) = self else { return nil }
        var link = ChallengeAuthentication(try Credential.Scoped(url, credential, isPreemptive: scheme != .digest))
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
