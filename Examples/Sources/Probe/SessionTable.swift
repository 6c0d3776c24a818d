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

    mutating func session(_ key: Key) throws -> HTTPSession {
        if let known = sessions[key] { return known }
        var configuration = SessionConfiguration()
        configuration.security = key.security
        let made = try HTTPSession(configuration: configuration)
        sessions[key] = made
        return made
    }

    func all(named name: String?) -> [HTTPSession] { sessions.filter { $0.key.name == name }.map(\.value) }

    func shutdown() async {
        for session in sessions.values { await session.shutdown(deadline: .seconds(5)) }
    }
}
