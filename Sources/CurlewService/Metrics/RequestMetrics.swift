#if Service
public import Curlew
internal import HTTPTypes
public import Metrics

/// A link (middleware) that measures calls through swift-metrics; ``all`` lists the metrics. Names follow OpenTelemetry
/// where it defines them.
///
/// It must come before all other links: it measures calls, and counts the retries, hedges, redirects and cache results
/// that ``Curlew/Retry``, ``Curlew/Hedging``, ``Curlew/Redirects`` and the cache report. Copies of a link share their
/// counts.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestMetrics()
/// }
/// ```
///
/// A call records a note in about half a microsecond and never calls the backend: the link's own thread does that every
/// 50 ms. If the backend blocks, calls continue; notes beyond 8,192 are dropped and counted. The gauges are read every
/// ``gaugeInterval`` from each session that the link has sent requests over, while the session exists.
///
/// Durations of calls end with the head of a response; durations of exchanges end with its body. The number of label
/// values is bounded: methods outside the registry and hosts beyond ``hostLimit`` become `_OTHER`. Labels contain no
/// part of a path, a query or a field.
public struct RequestMetrics: CurlewMiddleware {
    /// The maximum number of pairs of host and port in labels. 100 by default; further pairs become `_OTHER`.
    public var hostLimit: Int { core.hostLimit }
    /// The interval between two readings of the gauges. 10 seconds by default.
    public var gaugeInterval: Duration { core.gaugeInterval }
    let core: MetricsCore

    /// - Parameters:
    ///   - factory: The factory of the metrics; nil means the present `MetricsSystem.factory`.
    ///   - dimensions: The labels of all metrics, such as the name of the client in a program with several clients. Two
    ///     links with the same labels overwrite each other's gauges.
    ///   - hostLimit: The maximum number of pairs of host and port in labels.
    ///   - gaugeInterval: The interval between two readings of the gauges; at least 10 ms.
    ///   - budget: The retry budget whose lowest level becomes a gauge; nil for no gauge.
    public init(
        factory: (any MetricsFactory)? = nil, dimensions: [(String, String)] = [], hostLimit: Int = 100,
        gaugeInterval: Duration = .seconds(10), budget: Retry.Budget? = nil
    ) {
        core = MetricsCore(
            MetricsRecorder(factory: factory ?? MetricsSystem.factory, dimensions: dimensions, hostLimit: hostLimit),
            hostLimit: hostLimit, gaugeInterval: max(.milliseconds(10), gaugeInterval), budget: budget)
    }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        var observed = request
        ListenedCall.add(core, MetricsCore.kinds, to: &observed)
        let start = core.begin()
        do {
            let response = try await next(observed)
            core.end(request, since: start, .success(response))
            return response
        } catch {
            core.end(request, since: start, .failure(error))
            throw error
        }
    }

    /// Reads the gauges, and waits without a limit until the backend has received all measurements.
    public func flush() async { await core.flush() }
}
#endif
