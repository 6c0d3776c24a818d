#if Service
import Configuration
import Curlew
import CurlewService
import HTTPTypes
import Testing

/// A non-default value for a key, and the check of its effect.
struct Sample: Sendable, CustomTestStringConvertible {
    let key: String
    let value: ConfigContent
    /// The other values that the value requires.
    let others: [String: ConfigContent]
    let holds: @Sendable (HTTPSession.Settings) -> Bool

    init(
        _ key: String, _ value: ConfigContent, with others: [String: ConfigContent] = [:],
        _ holds: @escaping @Sendable (HTTPSession.Settings) -> Bool
    ) {
        self.key = key
        self.value = value
        self.others = others
        self.holds = holds
    }

    var testDescription: String { key }

    static let client: [Sample] = [
        Sample("base-url", "https://api.example.com/v1") { $0.baseURL == "https://api.example.com/v1" },
        Sample("fields", .stringArray(["Accept-Language: en", "X-Empty:"])) {
            $0.defaultFields[.acceptLanguage] == "en" && $0.defaultFields[HTTPField.Name("X-Empty")!] == ""
        },
        Sample("credential.bearer-token", "abc", with: ["base-url": "https://example.com/"]) {
            $0.defaultFields[.authorization] == "Bearer abc"
        },
        Sample("credential.user", "me", with: ["base-url": "https://example.com/", "credential.password": "secret"]) {
            $0.defaultFields[.authorization] == "Basic bWU6c2VjcmV0"
        },
        Sample("credential.password", "secret", with: ["base-url": "https://example.com/", "credential.user": "me"]) {
            $0.defaultFields[.authorization] == "Basic bWU6c2VjcmV0"
        },
        Sample("http-version", "http1.1") { $0.session.versionPolicy == .http11 },
        Sample("user-agent", "birds/2") { $0.session.userAgent == "birds/2" },
    ]

    static let bounds: [Sample] = [
        Sample("timeouts.connection-wait", "1s") { $0.session.timeouts.connectionWait == .seconds(1) },
        Sample("timeouts.connect", 2) { $0.session.timeouts.connect == .seconds(2) },
        Sample("timeouts.head", 1.5) { $0.session.timeouts.head == .milliseconds(1500) },
        Sample("timeouts.idle", "unlimited") { $0.session.timeouts.idle == Timeouts.unlimited },
        Sample("timeouts.total", "2m") { $0.session.timeouts.total == .seconds(120) },
        Sample("connections.per-host", "unlimited") { $0.session.connections.perHost == 0 },
        Sample("connections.total", 7) { $0.session.connections.total == 7 },
        Sample("connections.idle", 8) { $0.session.connections.idle == 8 },
        Sample("connections.idle-lifetime", "1h") { $0.session.connections.idleLifetime == .seconds(3600) },
        Sample("connections.streams", 9) { $0.session.connections.streamsPerConnection == 9 },
        Sample("connections.maximum-age", "5m") { $0.session.connections.maximumAge == .seconds(300) },
        Sample("connections.maximum-uses", 10) { $0.session.connections.maximumUses == 10 },
        Sample("connections.silence-timeout", "90s") { $0.session.connections.silenceTimeout == .seconds(90) },
        Sample("connections.keep-alive-interval", "none") { $0.session.connections.keepAliveInterval == nil },
        Sample("connections.name-lifetime", 0) { $0.session.connections.nameLifetime == .zero },
        Sample("limits.head-size", "1KiB") { $0.session.limits.headSize == 1024 },
        Sample("limits.field-count", 10) { $0.session.limits.fieldCount == 10 },
        Sample("limits.interim-responses", 0) { $0.session.limits.interimResponses == 0 },
        Sample("limits.collected-body", "2GiB") { $0.session.limits.collectedBody == .mebibytes(2048) },
        Sample("body-buffer-size", 100) { $0.session.bodyBufferSize == 100 },
        Sample("read-buffer-size", "64KiB") { $0.session.readBufferSize == .kibibytes(64) },
        Sample("tasks-in-flight", 11) { $0.session.tasksInFlight == 11 },
        Sample("rate-limit.sending", "1MiB") { $0.session.rateLimit == RateLimit(sending: .mebibytes(1)) },
        Sample("rate-limit.receiving", "2MiB") { $0.session.rateLimit == RateLimit(receiving: .mebibytes(2)) },
        Sample("progress-interval", 0) { $0.session.progressInterval == .zero },
        Sample("connectivity-timeout", "1m") { $0.session.connectivityTimeout == .seconds(60) },
        Sample("events.buffer-size", 12) { $0.session.eventBufferSize == 12 },
        Sample("events.body-limit", 0) { $0.session.eventBodyLimit == 0 },
    ]

    static let links: [Sample] = [
        Sample("retry.attempts", 5) { $0.chain.retry?.policy.attempts == 5 },
        Sample("retry.backoff", "1s") { $0.chain.retry?.policy.backoff.base == .seconds(1) },
        Sample("retry.backoff-limit", "2s") { $0.chain.retry?.policy.backoff.maximum == .seconds(2) },
        Sample("retry.total-time", "unlimited") { $0.chain.retry?.policy.totalTime == Timeouts.unlimited },
        Sample("retry.retry-after-limit", 0) { $0.chain.retry?.policy.retryAfterLimit == .zero },
        Sample("redirects.policy", "refuse") { "\($0.chain.redirects.policy)".contains("refuse") },
        Sample("redirects.limit", 3) { "\($0.chain.redirects.policy)".contains("maximum: 3") },
        Sample("cache.enabled", true) { $0.chain.cache != nil },
        Sample("cache.capacity", "1MiB", with: ["cache.enabled": "yes"]) {
            ($0.chain.cache?.store as? HTTPCache.MemoryStore)?.capacity == .mebibytes(1)
        },
        Sample("cache.mode", "shared", with: ["cache.enabled": "1"]) { $0.chain.cache?.mode == .shared },
    ]

    static let network: [Sample] = [
        Sample("route.unix-socket", "/run/birds.sock") { $0.session.route.unixSocket == "/run/birds.sock" },
        Sample("route.interface", "eth0") { $0.session.route.localInterface == "eth0" },
        Sample("route.address-family", "ipv6") { $0.session.route.addressFamily == .ipv6 },
        Sample("route.hosts", "example.com:443=2001:db8::1") {
            $0.session.route.hosts == [.init(host: "example.com", port: 443, addresses: ["2001:db8::1"])]
        },
        Sample("route.redirections", .stringArray(["*=localhost:80", "[::1]:81=[::1]:82"])) {
            $0.session.route.redirections == [
                .init(toHost: "localhost", toPort: 80), .init(host: "[::1]", port: 81, toHost: "[::1]", toPort: 82),
            ]
        },
        Sample("address-policy.base", "public-only") { $0.session.addressPolicy == .publicOnly },
        Sample("address-policy.allow", "10.0.0.0/8", with: ["address-policy.base": "only"]) {
            $0.session.addressPolicy.permits("10.1.2.3") && !$0.session.addressPolicy.permits("11.1.2.3")
        },
        Sample("address-policy.deny", .stringArray(["10.0.0.0/8", "::1"])) {
            !$0.session.addressPolicy.permits("10.1.2.3") && !$0.session.addressPolicy.permits("::1")
                && $0.session.addressPolicy.permits("11.1.2.3")
        },
        Sample("address-policy.ports", .intArray([80, 443])) { $0.session.addressPolicy.allowedPorts == [80, 443] },
        Sample("address-policy.https-only", true) { $0.session.addressPolicy.requiresHTTPS },
        Sample("address-policy.unix-sockets", true) { $0.session.addressPolicy.allowsUnixSockets },
        Sample("proxy.url", "environment") { $0.session.proxy == .environment },
        Sample("proxy.user", "me", with: proxy(["proxy.password": "secret"])) { "\($0.proxy)" == "me secret basic" },
        Sample("proxy.password", "secret", with: proxy(["proxy.user": "me"])) { "\($0.proxy)" == "me secret basic" },
        Sample("proxy.authentication", "negotiate", with: proxy([:])) { "\($0.proxy)" == "  negotiate" },
        Sample("proxy.exceptions", .stringArray([".example.com", "10.0.0.0/8"]), with: proxy([:])) {
            let direct = try? $0.session.proxy.proxy(for: CurlewURI("http://www.example.com/"))
            return direct == .some(nil) && $0.proxy != ""
        },
    ]

    private static func proxy(_ others: [String: ConfigContent]) -> [String: ConfigContent] {
        others.merging(["proxy.url": "http://127.0.0.1:3128"]) { one, _ in one }
    }
}

extension HTTPSession.Settings {
    /// User, password and scheme of the proxy for a host without an exception.
    var proxy: String {
        guard let proxy = try? session.proxy.proxy(for: CurlewURI("http://other.example/")) else { return "" }
        return "\(proxy.user ?? "-") \(proxy.password ?? "-") \(proxy.authentication)"
    }
}
#endif
