internal import Curlew
internal import CurlewCredentials

/// The sessions by their names. Settings that are per session in the library and per request in the protocol separate
/// sessions of one name: they share no connections.
struct SessionTable {
    struct Key: Hashable, Sendable {
        /// The name of the session; nil for the default session.
        var name: String?
        var security = SecurityPolicy.system
    }

    /// A token of OAuth 2: that of a session, for an origin.
    struct TokenKey: Hashable, Sendable {
        let session: Key
        let settings: Credentials.OAuthSettings
        let origin: String

        /// - Parameter url: A URL of the origin.
        init(_ session: Key, _ settings: Credentials.OAuthSettings, _ url: String) throws {
            self.session = session
            self.settings = settings
            origin = try CurlewURI(url).origin
        }
    }

    private var sessions: [Key: HTTPSession] = [:]
    private var tokens: [TokenKey: OAuthCredential] = [:]
    /// The cookie jars, one per name, whatever the other settings.
    private var jars: [String?: CookieJar] = [:]
    /// The caches, one per session: responses under other settings must not be used.
    private var caches: [Key: HTTPCache] = [:]
    /// The cache modes by name, from the first line of each.
    private var modes: [String?: HTTPCache.Mode] = [:]
    /// The number of running orders with requests, by the name of their session.
    private var busy: [String?: Int] = [:]

    mutating func session(_ key: Key) throws -> HTTPSession {
        if let known = sessions[key] { return known }
        var configuration = SessionConfiguration()
        configuration.security = key.security
        let made = try HTTPSession(configuration: configuration)
        sessions[key] = made
        return made
    }

    mutating func cookies(of name: String?) -> CookieJar {
        if let known = jars[name] { return known }
        let made = CookieJar()
        jars[name] = made
        return made
    }

    mutating func cache(_ key: Key) -> HTTPCache {
        if let known = caches[key] { return known }
        // A session of the probe acts as one user, with one cookie jar, unless its first line sets another mode.
        let made = HTTPCache(mode: modes[key.name] ?? .singleUser)
        caches[key] = made
        return made
    }

    mutating func token(_ key: TokenKey) throws -> OAuthCredential {
        if let known = tokens[key] { return known }
        var configuration = SessionConfiguration()
        configuration.security = key.session.security
        let settings = key.settings
        let client = OAuth.Client(settings.client, settings.secret.map { .basic(secret: $0) } ?? .none)
        let endpoint = try OAuth.Endpoint(settings.endpoint, client: client, configuration: configuration)
        let made = try OAuthCredential.clientCredentials(for: key.origin, endpoint, scopes: settings.scopes)
        tokens[key] = made
        return made
    }

    func caches(named name: String?) -> [HTTPCache] { caches.filter { $0.key.name == name }.map(\.value) }

    func all(named name: String?) -> [HTTPSession] { sessions.filter { $0.key.name == name }.map(\.value) }

    /// - Parameter mode: The cache mode that the line requires.
    mutating func enter(_ name: String?, _ mode: HTTPCache.Mode?) {
        if modes[name] == nil { modes[name] = mode ?? .singleUser }
        busy[name, default: 0] += 1
    }

    mutating func leave(_ name: String?) {
        let left = busy[name, default: 1] - 1
        busy[name] = left > 0 ? left : nil
    }

    func isBusy(_ name: String?) -> Bool { busy[name] != nil }

    func shutdown() async {
        for session in sessions.values { await session.shutdown(deadline: .seconds(5)) }
    }
}
