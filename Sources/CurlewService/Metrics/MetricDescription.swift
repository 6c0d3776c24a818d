#if Service
extension RequestMetrics {
    /// The documentation of a metric, for dashboards.
    public struct Description: Sendable, Hashable {
        /// The kind of measurement.
        public enum Kind: String, Sendable, Hashable {
            /// A `Timer`, in nanoseconds by swift-metrics; a histogram of seconds with most backends.
            case timer
            /// A `Recorder` of sizes in bytes.
            case recorder
            /// A `Counter`.
            case counter
            /// A `Gauge`.
            case gauge
        }

        /// The name of the metric.
        public let name: String
        public let kind: Kind
        /// The names of the labels.
        public let labels: [String]
        /// The meaning of the metric, in one line.
        public let meaning: String
    }

    private static let server = ["server.address", "server.port"]
    private static let outcome = ["http.response.status_class", "error.type"]

    /// All metrics.
    public static let all: [Description] = [
        Description(
            name: "http.client.request.duration", kind: .timer, labels: ["http.request.method"] + server + outcome,
            meaning: "a call, retries and redirects included, up to the head of its response"),
        Description(
            name: "http.client.active_requests", kind: .gauge, labels: [],
            meaning: "calls in progress, up to the heads of their responses"),
        Description(
            name: "http.client.open_connections", kind: .gauge, labels: ["http.connection.state"],
            meaning: "connections: `active`, `idle` or `pending`, which are being made"),
        Description(
            name: "http.client.request.body.size", kind: .recorder, labels: server,
            meaning: "bytes of a request's body on the wire, for each exchange that sent one"),
        Description(
            name: "http.client.response.body.size", kind: .recorder, labels: server,
            meaning: "bytes of a response's body on the wire, for each exchange that has a response"),
        Description(
            name: "curlew.client.exchange.duration", kind: .timer, labels: server + outcome,
            meaning: "one request on the wire, waits in the session included, up to the end of the response's body"),
        Description(
            name: "curlew.client.connection.wait", kind: .timer, labels: server,
            meaning: "the wait of an exchange for a connection, its turn in the session included"),
        Description(
            name: "curlew.client.connections.opened", kind: .counter, labels: server,
            meaning: "connections that were made for an exchange"),
        Description(
            name: "curlew.client.redirects", kind: .counter, labels: server, meaning: "redirects that were followed"),
        Description(
            name: "curlew.client.retries", kind: .counter, labels: server + outcome,
            meaning: "requests that were sent again, by the result of the previous attempt"),
        Description(
            name: "curlew.client.hedges", kind: .counter, labels: server,
            meaning: "requests that were sent once more because the answer took long"),
        Description(
            name: "curlew.client.circuit.transitions", kind: .counter, labels: server + ["curlew.circuit.state"],
            meaning: "changes of the state of an origin's circuit, by the new one"),
        Description(
            name: "curlew.client.circuit.state", kind: .gauge, labels: server,
            meaning: "the state of an origin's circuit since its last change: 0 closed, 1 half-open, 2 open"),
        Description(
            name: "curlew.client.cache.results", kind: .counter, labels: ["cache.result"],
            meaning: "responses by the part that the cache had in them, such as `hit` and `miss`"),
        Description(
            name: "curlew.client.queue.length", kind: .gauge, labels: [],
            meaning: "requests that wait for their turn in the session"),
        Description(
            name: "curlew.client.connection.waiters", kind: .gauge, labels: [],
            meaning: "requests that wait for a connection"),
        Description(
            name: "curlew.client.streams", kind: .gauge, labels: [],
            meaning: "requests on connections: over HTTP/2 the open streams"),
        Description(
            name: "curlew.client.connections.upgraded", kind: .gauge, labels: [],
            meaning:
                "connections that were switched to another protocol, such as WebSockets; they are among the active ones"
        ),
        Description(
            name: "curlew.client.retry.budget", kind: .gauge, labels: [],
            meaning: "the tokens that the budget for retries has left for the host that has fewest"),
        Description(
            name: "curlew.client.metrics.dropped", kind: .counter, labels: [],
            meaning: "notes that were dropped because the backend was too slow for them"),
    ]
}
#endif
