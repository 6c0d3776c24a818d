#if Service
internal import Curlew
internal import Metrics

/// A record of a call for the metrics.
struct MetricNote: Sendable {
    struct Call: Sendable {
        let method: String
        let duration: Int64
        let cacheStatus: HTTPCache.Status?
    }

    struct Exchange: Sendable {
        let duration: Int64
        let wait: Int64
        /// The bytes sent; -1 without a body.
        let sentBytes: Int64
        /// The bytes received; -1 without a response.
        let receivedBytes: Int64
        let opened: Bool
    }

    enum Kind: Sendable {
        case call(Call)
        case exchange(Exchange)
        case redirect
        case retry
        case hedge
        case circuit(CircuitTransition.State)
    }

    let kind: Kind
    let uri: CurlewURI
    /// The status code; 0 without a response.
    let status: Int
    let code: ErrorCode?

    init(_ kind: Kind, _ uri: CurlewURI, status: Int = 0, code: ErrorCode? = nil) {
        self.kind = kind
        self.uri = uri
        self.status = status
        self.code = code
    }
}

/// A recorder that passes the notes to the backend.
final class MetricsRecorder: Sendable {
    private struct State {
        /// The metrics by scheme, host and port as written.
        var servers: [String: ServerMetrics] = [:]
        /// The URI and server of the previous note; the next note usually has the same server.
        var last: (uri: CurlewURI, server: ServerMetrics)?
        var known: [ServerLabels: ServerMetrics] = [:]
        var others: ServerMetrics?
        var cacheResults: [HTTPCache.Status: Counter] = [:]
        var gauges: [String: Gauge] = [:]
        var dropped: Counter?
    }

    private let maker: MetricMaker
    private let hostLimit: Int
    private let state = Guarded(State())

    init(factory: any MetricsFactory, dimensions: [(String, String)], hostLimit: Int) {
        maker = MetricMaker(factory: factory, dimensions: dimensions)
        self.hostLimit = max(0, hostLimit)
    }

    func record(_ notes: [MetricNote], dropped: Int) {
        state.withLock { state in
            for note in notes {
                server(of: note.uri, &state).record(note)
                if case .call(let call) = note.kind, let status = call.cacheStatus { countCacheResult(status, &state) }
            }
            guard dropped > 0 else { return }
            let counter = state.dropped ?? maker.counter("curlew.client.metrics.dropped", [])
            counter.increment(by: dropped)
            state.dropped = counter
        }
    }

    private func server(of uri: CurlewURI, _ state: inout State) -> ServerMetrics {
        if let last = state.last, last.uri.begins(like: uri) { return last.server }
        let key = "\(uri.scheme)://\(uri.authority)"
        let server = state.servers[key] ?? newServer(of: uri, key, &state)
        state.last = (uri, server)
        return server
    }

    private func newServer(of uri: CurlewURI, _ key: String, _ state: inout State) -> ServerMetrics {
        let labels = ServerLabels(host: uri.host.lowercased(), port: "\(uri.port)")
        guard let server = state.known[labels] ?? newServer(labels, &state) else {
            let others = state.others ?? ServerMetrics(.other, maker)
            state.others = others
            return others
        }
        // A name has several spellings, so this cache has its own bound.
        if state.servers.count < 4 * hostLimit { state.servers[key] = server }
        return server
    }

    private func newServer(_ labels: ServerLabels, _ state: inout State) -> ServerMetrics? {
        guard state.known.count < hostLimit else { return nil }
        let made = ServerMetrics(labels, maker)
        state.known[labels] = made
        return made
    }

    private func countCacheResult(_ status: HTTPCache.Status, _ state: inout State) {
        let counter =
            state.cacheResults[status]
            ?? maker.counter("curlew.client.cache.results", [("cache.result", status.rawValue)])
        state.cacheResults[status] = counter
        counter.increment()
    }

    func record(_ gauges: MetricGauges) {
        state.withLock { state in
            func set(_ name: String, _ value: Double, _ labels: [(String, String)] = []) {
                let key = labels.reduce(name) { "\($0) \($1.1)" }
                let gauge = state.gauges[key] ?? maker.gauge(name, labels)
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
}

/// A factory of metrics with the labels that all metrics of a link have.
struct MetricMaker: Sendable {
    let factory: any MetricsFactory
    let dimensions: [(String, String)]

    func timer(_ name: String, _ labels: [(String, String)]) -> Timer {
        Timer(label: name, dimensions: dimensions + labels, factory: factory)
    }

    func recorder(_ name: String, _ labels: [(String, String)]) -> Recorder {
        Recorder(label: name, dimensions: dimensions + labels, aggregate: true, factory: factory)
    }

    func counter(_ name: String, _ labels: [(String, String)]) -> Counter {
        Counter(label: name, dimensions: dimensions + labels, factory: factory)
    }

    func gauge(_ name: String, _ labels: [(String, String)]) -> Gauge {
        Gauge(label: name, dimensions: dimensions + labels, factory: factory)
    }
}
#endif
