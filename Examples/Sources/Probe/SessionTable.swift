internal import Curlew

/// The sessions by their names. Settings that the library keeps a session, and the protocol a request, tell sessions of
/// one name apart: they share nothing, as connections made under other settings must not be used.
struct SessionTable {
    struct Key: Hashable, Sendable {
        /// nil is the default session.
        var name: String?
        var security = SecurityPolicy.system
    }

    private var sessions: [Key: HTTPSession] = [:]
    /// A jar a name, whatever the other settings.
    private var jars: [String?: CookieJar] = [:]
    /// A cache a session: what came under other settings may not be used.
    private var caches: [Key: HTTPCache] = [:]
    /// The modes of the caches of a name, as its first line says.
    private var modes: [String?: HTTPCache.Mode] = [:]
    /// How many orders with requests are under way, by the name of their session.
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
        // A session of the probe acts as one user, with one jar of cookies, unless its first line says otherwise.
        let made = HTTPCache(mode: modes[key.name] ?? .singleUser)
        caches[key] = made
        return made
    }

    func caches(named name: String?) -> [HTTPCache] { caches.filter { $0.key.name == name }.map(\.value) }

    func all(named name: String?) -> [HTTPSession] { sessions.filter { $0.key.name == name }.map(\.value) }

    /// - Parameter mode: The mode of the cache that the line asks for.
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
