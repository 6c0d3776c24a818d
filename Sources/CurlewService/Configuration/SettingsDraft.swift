#if Service
internal import Curlew
internal import HTTPTypes

/// Settings while they are read: complete settings, and values that depend on other keys.
struct SettingsDraft: Sendable {
    var settings: HTTPSession.Settings
    var bearerToken: String?
    var user: String?
    var password: String?
    var fields: [HTTPField] = []
    var addresses = Addresses()
    var proxy = ProxyChoice()
    var trust = Trust()
    var redirects = RedirectChoice()
    var cache = CacheChoice()
    /// The keys that have a value.
    var found: Set<String> = []

    init(_ settings: HTTPSession.Settings = HTTPSession.Settings()) { self.settings = settings }

    var retry: Retry {
        get { settings.chain.retry ?? Retry() }
        set { settings.chain.retry = newValue }
    }

    /// - Throws: ``SettingsProblem``, and the errors of making a session.
    func finished() throws -> HTTPSession.Settings {
        var settings = settings
        settings.session.addressPolicy = try addresses.policy(insteadOf: settings.session.addressPolicy)
        settings.session.proxy = try proxy.configuration(insteadOf: settings.session.proxy)
        settings.session.security = try trust.policy(from: settings.session.security)
        settings.chain.redirects.policy = try redirects.policy(insteadOf: settings.chain.redirects.policy)
        settings.chain.cache = cache.cache(insteadOf: settings.chain.cache, found)
        for field in fields { settings.defaultFields[fields: field.name] = [] }
        for field in fields { settings.defaultFields.append(field) }
        if let authorization = try authorization() {
            guard !fields.contains(where: { $0.name == .authorization }) else {
                throw SettingsProblem("fields", "credential", message: "the field Authorization is configured twice")
            }
            settings.defaultFields[.authorization] = authorization
        }
        try checkBase(of: settings)
        try check(settings)
        return settings
    }

    /// Performs the checks of a session's initializer, and names the keys at fault.
    private func check(_ settings: HTTPSession.Settings) throws {
        do {
            try settings.session.check(baseURL: settings.baseURL)
        } catch let error as CurlewError {
            let groups = [
                ("security", SessionConfiguration(security: settings.session.security)),
                ("route", SessionConfiguration(route: settings.session.route)),
            ]
            for (name, alone) in groups where found.contains(where: { $0.hasPrefix(name + ".") }) {
                guard (try? alone.check(baseURL: settings.baseURL)) == nil else { continue }
                throw SettingsProblem(name, cause: error)
            }
            throw error
        }
    }

    /// The value of Authorization.
    private func authorization() throws -> String? {
        do {
            switch (bearerToken, user, password) {
            case (nil, nil, nil): return nil
            case (let token?, nil, nil): return try Credential.bearer(token).value(for: .bearer)
            case (nil, let user?, let password?):
                return try Credential.password(user: user, password: password).value(for: .basic)
            case (_?, _, _):
                throw SettingsProblem(
                    "credential.bearer-token", "credential.user", message: "a client has one credential, not two")
            default:
                throw SettingsProblem(
                    "credential.user", "credential.password", message: "one of them is there without the other")
            }
        } catch let error as CurlewError {
            // The message is only about the form of the credential.
            throw SettingsProblem("credential", cause: error)
        }
    }

    /// Checks that a base URL limits credentials to one origin; without it every requested origin would receive them.
    private func checkBase(of settings: HTTPSession.Settings) throws {
        guard settings.baseURL == nil else { return }
        if bearerToken != nil || user != nil {
            throw SettingsProblem("credential", message: "a credential needs base-url, the origin that it is for")
        }
        if let field = fields.first(where: { SecretFields.isSecret($0.name) }) {
            throw SettingsProblem(
                "fields", message: "the secret field \(field.name.rawName) needs base-url, the origin that it is for")
        }
    }

    /// The keys of redirects.
    struct RedirectChoice: Sendable {
        enum Kind: Sendable { case follow, refuse, manual }
        var kind: Kind?
        var limit: Int?

        func policy(insteadOf policy: Redirects.Policy) throws -> Redirects.Policy {
            switch (kind, limit) {
            case (nil, nil): return policy
            case (nil, let limit?), (.follow, let limit?): return .follow(maximum: limit)
            case (.follow, nil): return .follow
            case (.refuse, nil): return .refuse
            case (.manual, nil): return .manual
            default:
                throw SettingsProblem(
                    "redirects.policy", "redirects.limit", message: "a limit is for redirects that are followed")
            }
        }
    }

    /// The keys of a cache in memory.
    struct CacheChoice: Sendable {
        var isEnabled: Bool?
        var capacity = HTTPCache.MemoryStore().capacity
        var mode = HTTPCache.Mode.private

        func cache(insteadOf cache: HTTPCache?, _ found: Set<String>) -> HTTPCache? {
            guard isEnabled ?? (cache != nil) else { return nil }
            if let cache, found.isDisjoint(with: ["cache.capacity", "cache.mode"]) { return cache }
            return HTTPCache(store: HTTPCache.MemoryStore(capacity: capacity), mode: mode)
        }
    }
}
#endif
