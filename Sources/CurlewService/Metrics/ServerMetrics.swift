#if Service
internal import Curlew
internal import Metrics

/// The labels of a server.
struct ServerLabels: Hashable, Sendable {
    let host: String
    let port: String

    static let other = ServerLabels(host: "_OTHER", port: "_OTHER")

    var texts: [(String, String)] { [("server.address", host), ("server.port", port)] }
}

/// The metrics of one server, made on first use. They are protected by the lock of ``MetricsRecorder``.
final class ServerMetrics {
    /// The result of a call or an exchange, with the method of a call.
    private struct Outcome: Hashable {
        /// The first digit of the status; 0 without a response.
        let statusClass: Int
        let code: ErrorCode?
        var method = 0
    }

    /// The timers of the outcomes. The next outcome is usually the same as the last, whose timer needs no hash.
    private struct Timers {
        private var all: [Outcome: Timer] = [:]
        private var last: (outcome: Outcome, timer: Timer)?

        mutating func timer(_ outcome: Outcome, orMake make: () -> Timer) -> Timer {
            if let last, last.outcome == outcome { return last.timer }
            let timer = all[outcome] ?? make()
            all[outcome] = timer
            last = (outcome, timer)
            return timer
        }
    }

    private let labels: [(String, String)]
    private let maker: MetricMaker
    private var calls = Timers()
    private var exchanges = Timers()
    private var retries: [Outcome: Counter] = [:]
    private lazy var wait = maker.timer("curlew.client.connection.wait", labels)
    private lazy var sent = maker.recorder("http.client.request.body.size", labels)
    private lazy var received = maker.recorder("http.client.response.body.size", labels)
    private lazy var opened = maker.counter("curlew.client.connections.opened", labels)
    private lazy var redirects = maker.counter("curlew.client.redirects", labels)
    private lazy var circuit = maker.gauge("curlew.client.circuit.state", labels)
    private var transitions: [CircuitTransition.State: Counter] = [:]
    private lazy var hedges = maker.counter("curlew.client.hedges", labels)

    /// The known methods; the first element replaces all others.
    private static let methods = [
        "_OTHER", "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]

    init(_ labels: ServerLabels, _ maker: MetricMaker) {
        self.labels = labels.texts
        self.maker = maker
    }

    func record(_ note: MetricNote) {
        var outcome = Outcome(statusClass: note.status / 100, code: note.code)
        switch note.kind {
        case .call(let call):
            outcome.method = Self.methods.firstIndex(of: call.method) ?? 0
            callTimer(outcome).recordNanoseconds(call.duration)
        case .exchange(let exchange):
            exchangeTimer(outcome).recordNanoseconds(exchange.duration)
            wait.recordNanoseconds(exchange.wait)
            if exchange.sentBytes >= 0 { sent.record(exchange.sentBytes) }
            if exchange.receivedBytes >= 0 { received.record(exchange.receivedBytes) }
            if exchange.opened { opened.increment() }
        case .redirect: redirects.increment()
        case .retry:
            let counter = retries[outcome] ?? maker.counter("curlew.client.retries", labels + texts(of: outcome))
            retries[outcome] = counter
            counter.increment()
        case .hedge: hedges.increment()
        case .circuit(let state): record(state)
        }
    }

    private func record(_ state: CircuitTransition.State) {
        circuit.record(state == .closed ? 0 : state == .halfOpen ? 1 : 2)
        let label = [("curlew.circuit.state", state.rawValue)]
        let counter = transitions[state] ?? maker.counter("curlew.client.circuit.transitions", labels + label)
        transitions[state] = counter
        counter.increment()
    }

    private func callTimer(_ outcome: Outcome) -> Timer {
        calls.timer(outcome) {
            let method = [("http.request.method", Self.methods[outcome.method])]
            return maker.timer("http.client.request.duration", method + labels + texts(of: outcome))
        }
    }

    private func exchangeTimer(_ outcome: Outcome) -> Timer {
        exchanges.timer(outcome) { maker.timer("curlew.client.exchange.duration", labels + texts(of: outcome)) }
    }

    private func texts(of outcome: Outcome) -> [(String, String)] {
        var texts: [(String, String)] = []
        if outcome.statusClass > 0 { texts.append(("http.response.status_class", "\(outcome.statusClass)xx")) }
        if let code = outcome.code { texts.append(("error.type", code.rawValue)) }
        return texts
    }
}
#endif
