#if Service
internal import Curlew
internal import Metrics

/// What a call leaves behind for the metrics.
struct MetricNote: Sendable {
    struct Call: Sendable {
        let method: String
        let duration: Int64
        let cacheStatus: HTTPCache.Status?
    }

    struct Exchange: Sendable {
        let duration: Int64
        let wait: Int64
        /// -1 without a body.
        let sentBytes: Int64
        /// -1 without a response.
        let receivedBytes: Int64
        let opened: Bool
    }

    enum Kind: Sendable {
        case call(Call)
        case exchange(Exchange)
        case redirect
        case retry
        case hedge
    }

    let kind: Kind
    let uri: CurlewURI
    /// 0 without a response.
    let status: Int
    let code: ErrorCode?

    init(_ kind: Kind, _ uri: CurlewURI, status: Int = 0, code: ErrorCode? = nil) {
        self.kind = kind
        self.uri = uri
        self.status = status
        self.code = code
    }
}

/// Gives the notes to the backend. It is used by one thread at a time.
final class MetricsRecorder: Sendable {
    /// What makes two metrics of one name different.
    private struct Labels: Hashable {
        var method = ""
        var server = Server.other
        var status = 0
        var code: ErrorCode?
    }

    private struct Server: Hashable {
        let host: String
        let port: String

        static let other = Server(host: "_OTHER", port: "_OTHER")
    }

    private struct CallMetrics {
        let duration: Timer
    }

    private struct ExchangeMetrics {
        let duration: Timer
        let wait: Timer
        let sent: Recorder
        let received: Recorder
        let opened: Counter
    }

    private struct State {
        var servers: [Server: Server] = [:]
        var calls: [Labels: CallMetrics] = [:]
        var exchanges: [Labels: ExchangeMetrics] = [:]
        var counters: [String: [Labels: Counter]] = [:]
        var cacheResults: [HTTPCache.Status: Counter] = [:]
        var gauges: [String: Gauge] = [:]
        var dropped: Counter?
    }

    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]
    private let hostLimit: Int
    private let state = Guarded(State())
    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ]

    init(factory: any MetricsFactory, dimensions: [(String, String)], hostLimit: Int) {
        self.factory = factory
        self.dimensions = dimensions
        self.hostLimit = max(0, hostLimit)
    }

    func record(_ notes: [MetricNote], dropped: Int) {
        state.withLock { state in
            for note in notes { record(note, &state) }
            guard dropped > 0 else { return }
            let counter = state.dropped ?? counter("curlew.client.metrics.dropped", [])
            counter.increment(by: dropped)
            state.dropped = counter
        }
    }

    private func record(_ note: MetricNote, _ state: inout State) {
        var labels = Labels(server: server(of: note.uri, &state), status: note.status / 100, code: note.code)
        switch note.kind {
        case .call(let call):
            labels.method = Self.methods.contains(call.method) ? call.method : "_OTHER"
            callMetrics(labels, &state).duration.recordNanoseconds(call.duration)
            if let status = call.cacheStatus { countCacheResult(status, &state) }
        case .exchange(let exchange):
            let metrics = exchangeMetrics(labels, &state)
            metrics.duration.recordNanoseconds(exchange.duration)
            metrics.wait.recordNanoseconds(exchange.wait)
            if exchange.sentBytes >= 0 { metrics.sent.record(exchange.sentBytes) }
            if exchange.receivedBytes >= 0 { metrics.received.record(exchange.receivedBytes) }
            if exchange.opened { metrics.opened.increment() }
        case .redirect: count("curlew.client.redirects", Labels(server: labels.server), &state)
        case .retry: count("curlew.client.retries", labels, &state)
        case .hedge: count("curlew.client.hedges", Labels(server: labels.server), &state)
        }
    }

    private func server(of uri: CurlewURI, _ state: inout State) -> Server {
        let server = Server(host: uri.host.lowercased(), port: "\(uri.port)")
        if let known = state.servers[server] { return known }
        guard state.servers.count < hostLimit else { return .other }
        state.servers[server] = server
        return server
    }

    // MARK: The metrics

    private func callMetrics(_ labels: Labels, _ state: inout State) -> CallMetrics {
        if let metrics = state.calls[labels] { return metrics }
        let texts = [("http.request.method", labels.method)] + texts(of: labels)
        let made = CallMetrics(duration: timer("http.client.request.duration", texts))
        state.calls[labels] = made
        return made
    }

    private func exchangeMetrics(_ labels: Labels, _ state: inout State) -> ExchangeMetrics {
        if let metrics = state.exchanges[labels] { return metrics }
        let server = texts(of: Labels(server: labels.server))
        let made = ExchangeMetrics(
            duration: timer("curlew.client.exchange.duration", texts(of: labels)),
            wait: timer("curlew.client.connection.wait", server),
            sent: recorder("http.client.request.body.size", server),
            received: recorder("http.client.response.body.size", server),
            opened: counter("curlew.client.connections.opened", server))
        state.exchanges[labels] = made
        return made
    }

    private func count(_ name: String, _ labels: Labels, _ state: inout State) {
        let counter = state.counters[name]?[labels] ?? counter(name, texts(of: labels))
        state.counters[name, default: [:]][labels] = counter
        counter.increment()
    }

    private func countCacheResult(_ status: HTTPCache.Status, _ state: inout State) {
        let counter =
            state.cacheResults[status]
            ?? counter("curlew.client.cache.results", [("cache.result", status.rawValue)])
        state.cacheResults[status] = counter
        counter.increment()
    }

    func record(_ gauges: MetricGauges) {
        state.withLock { state in
            func set(_ name: String, _ value: Double, _ labels: [(String, String)] = []) {
                let key = labels.reduce(name) { "\($0) \($1.1)" }
                let gauge = state.gauges[key] ?? gauge(name, labels)
                state.gauges[key] = gauge
                gauge.record(value)
            }
            func sum(_ path: KeyPath<SessionActor.Figures, Int>) -> Double {
                Double(gauges.sessions.reduce(0) { $0 + $1[keyPath: path] })
            }
            set("http.client.active_requests", Double(gauges.activeRequests))
            let connections = "http.client.open_connections"
            set(connections, sum(\.activeConnections), [("http.connection.state", "active")])
            set(connections, sum(\.idleConnections), [("http.connection.state", "idle")])
            set(connections, sum(\.pendingConnections), [("http.connection.state", "pending")])
            set("curlew.client.queue.length", sum(\.queuedTasks))
            set("curlew.client.connection.waiters", sum(\.tasksAwaitingConnections))
            set("curlew.client.streams", sum(\.streams))
            if let budget = gauges.budget { set("curlew.client.retry.budget", budget) }
        }
    }

    private func texts(of labels: Labels) -> [(String, String)] {
        var texts = [("server.address", labels.server.host), ("server.port", labels.server.port)]
        if labels.status > 0 { texts.append(("http.response.status_class", "\(labels.status)xx")) }
        if let code = labels.code { texts.append(("error.type", code.rawValue)) }
        return texts
    }

    private func timer(_ name: String, _ labels: [(String, String)]) -> Timer {
        Timer(label: name, dimensions: dimensions + labels, factory: factory)
    }

    private func recorder(_ name: String, _ labels: [(String, String)]) -> Recorder {
        Recorder(label: name, dimensions: dimensions + labels, aggregate: true, factory: factory)
    }

    private func counter(_ name: String, _ labels: [(String, String)]) -> Counter {
        Counter(label: name, dimensions: dimensions + labels, factory: factory)
    }

    private func gauge(_ name: String, _ labels: [(String, String)]) -> Gauge {
        Gauge(label: name, dimensions: dimensions + labels, factory: factory)
    }
}
#endif
