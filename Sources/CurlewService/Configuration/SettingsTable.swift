#if Service
internal import Curlew

/// The only list of all keys. It reads the values, and a test compares the article's table with it.
enum SettingsTable {
    /// All keys, in the order of the article.
    static let all: [SettingsEntry] = client + session + links

    /// The keys of properties of ``Curlew/SessionConfiguration``.
    static let session: [SettingsEntry] = timeouts + connections + network + trust + bounds

    private static let client: [SettingsEntry] = [
        SettingsEntry(
            "base-url", \.settings.baseURL, Form.baseURL.optional, "The URL that relative references are read against"),
        SettingsEntry(
            "fields", \.fields, Form.field.list("list of fields", "fields such as Accept-Language: en"), secret: true,
            "Fields for every request that does not have them itself"),
        SettingsEntry(
            "credential.bearer-token", \.bearerToken, Form.text.optional, secret: true,
            "The token of Authorization: Bearer, for the origin of base-url"),
        SettingsEntry(
            "credential.user", \.user, Form.text.optional,
            "The user of Authorization: Basic, for the origin of base-url"),
        SettingsEntry(
            "credential.password", \.password, Form.text.optional, secret: true, "The password of Authorization: Basic"),
    ]

    private static let timeouts: [SettingsEntry] = [
        SettingsEntry(
            "timeouts.connection-wait", \.settings.session.timeouts.connectionWait, Form.timeLimit,
            "The longest wait for a connection while all are taken"),
        SettingsEntry(
            "timeouts.connect", \.settings.session.timeouts.connect, Form.timeLimit,
            "The longest time for look-up, TCP and TLS"),
        SettingsEntry(
            "timeouts.head", \.settings.session.timeouts.head, Form.timeLimit,
            "The longest time between the request and the first byte of an answer"),
        SettingsEntry(
            "timeouts.idle", \.settings.session.timeouts.idle, Form.timeLimit,
            "The longest time without a byte either way"),
        SettingsEntry(
            "timeouts.total", \.settings.session.timeouts.total, Form.timeLimit, "The longest time of a request in all"),
    ]

    private static let connections: [SettingsEntry] = [
        SettingsEntry(
            "connections.per-host", \.settings.session.connections.perHost,
            Form.count(1...Form.largestCount).or("unlimited", for: 0), "Connections to one host at a time"),
        SettingsEntry(
            "connections.total", \.settings.session.connections.total,
            Form.count(1...Form.largestCount).or("unlimited", for: 0),
            "Connections in all"),
        SettingsEntry(
            "connections.idle", \.settings.session.connections.idle, Form.count(1...Form.largestCount),
            "Connections kept open without a request"),
        SettingsEntry(
            "connections.idle-lifetime", \.settings.session.connections.idleLifetime, Form.duration(),
            "The time for which a connection is kept without a request"),
        SettingsEntry(
            "connections.streams", \.settings.session.connections.streamsPerConnection,
            Form.count(1...Form.largestCount).or("unlimited", for: 0), "Streams on one HTTP/2 connection"),
        SettingsEntry(
            "connections.maximum-age", \.settings.session.connections.maximumAge, Form.duration().or("unlimited"),
            "The age from which on a connection takes no new request"),
        SettingsEntry(
            "connections.maximum-uses", \.settings.session.connections.maximumUses,
            Form.count(1...Form.largestCount).or("unlimited", for: 0), "Requests that a connection carries at most"),
        SettingsEntry(
            "connections.silence-timeout", \.settings.session.connections.silenceTimeout,
            Form.duration().or("unlimited"), "The time without a byte after which a connection takes no new request"),
        SettingsEntry(
            "connections.keep-alive-interval", \.settings.session.connections.keepAliveInterval,
            Form.duration().or("none"), "The time between probes of TCP on a silent connection"),
        SettingsEntry(
            "connections.name-lifetime", \.settings.session.connections.nameLifetime,
            Form.duration(allowsZero: true).or("unlimited", for: Timeouts.unlimited),
            "The time for which the addresses of a name are used for new connections"),
    ]

    private static let bounds: [SettingsEntry] = [
        SettingsEntry(
            "limits.head-size", \.settings.session.limits.headSize, Form.size(), "Bytes of all heads of one response"),
        SettingsEntry(
            "limits.field-count", \.settings.session.limits.fieldCount, Form.count(1...60_000),
            "Field lines of one head"),
        SettingsEntry(
            "limits.interim-responses", \.settings.session.limits.interimResponses, Form.count(0...100),
            "Interim responses that are kept"),
        SettingsEntry(
            "limits.collected-body", \.settings.session.limits.collectedBody, Form.size(),
            "Bytes of a body that are collected at most"),
        SettingsEntry(
            "body-buffer-size", \.settings.session.bodyBufferSize, Form.size(),
            "Bytes of a body that wait before its transfer pauses"),
        SettingsEntry(
            "read-buffer-size", \.settings.session.readBufferSize, Form.size(.kibibytes(1)...(.mebibytes(10))),
            "The size of the buffer that sockets are read into"),
        SettingsEntry(
            "tasks-in-flight", \.settings.session.tasksInFlight, Form.count(1...Form.largestCount),
            "Tasks that run at a time on each event loop"),
        SettingsEntry(
            "rate-limit.sending", \.settings.session.rateLimit.sending, Form.size().or("unlimited"),
            "Bytes of request bodies a second"),
        SettingsEntry(
            "rate-limit.receiving", \.settings.session.rateLimit.receiving, Form.size().or("unlimited"),
            "Bytes of response bodies a second"),
        SettingsEntry(
            "progress-interval", \.settings.session.progressInterval, Form.duration(allowsZero: true),
            "The shortest time between two elements of a task's progress"),
        SettingsEntry(
            "connectivity-timeout", \.settings.session.connectivityTimeout, Form.duration().or("none"),
            "The longest wait of a request for the network to come back"),
        SettingsEntry(
            "events.buffer-size", \.settings.session.eventBufferSize, Form.count(1...Form.largestCount),
            "Events that wait for a listener"),
        SettingsEntry(
            "events.body-limit", \.settings.session.eventBodyLimit, Form.size(0...ByteSizeText.largest),
            "Bytes of a body that an event keeps"),
    ]

    private static let links: [SettingsEntry] = [
        SettingsEntry(
            "retry.attempts", \.retry.policy.attempts, Form.count(1...1000),
            "The number of times that a request is sent at most; 1 is no retry"),
        SettingsEntry(
            "retry.backoff", \.retry.policy.backoff.base, Form.duration(),
            "The bound of the wait after the first failure"),
        SettingsEntry(
            "retry.backoff-limit", \.retry.policy.backoff.maximum, Form.duration(),
            "The bound that the waits double up to"),
        SettingsEntry(
            "retry.total-time", \.retry.policy.totalTime, Form.timeLimit,
            "No attempt is begun later than this after the call"),
        SettingsEntry(
            "retry.retry-after-limit", \.retry.policy.retryAfterLimit, Form.duration(allowsZero: true),
            "The longest Retry-After that is waited for"),
        SettingsEntry(
            "redirects.policy", \.redirects.kind,
            Form.choice(["follow": SettingsDraft.RedirectChoice.Kind.follow, "refuse": .refuse, "manual": .manual])
                .optional,
            standard: "follow", "The treatment of redirects: `manual` makes them the answer"),
        SettingsEntry(
            "redirects.limit", \.redirects.limit, Form.count(0...Redirects.Policy.upperLimit).optional, standard: "20",
            "Redirects that a call follows at most"),
        SettingsEntry(
            "cache.enabled", \.cache.isEnabled, Form.flag.optional, standard: "false",
            "True for a cache in memory, of responses to requests without credentials"),
        SettingsEntry("cache.capacity", \.cache.capacity, Form.size(), "Bytes that the cache holds at most"),
        SettingsEntry(
            "cache.mode", \.cache.mode,
            Form.choice(["private": HTTPCache.Mode.private, "single-user": .singleUser, "shared": .shared]),
            "Whose responses the cache holds"),
    ]
}
#endif
