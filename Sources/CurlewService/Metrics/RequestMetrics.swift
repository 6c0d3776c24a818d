#if Service
public import Curlew
internal import HTTPTypes
public import Metrics

/// A link that measures calls through swift-metrics, by OpenTelemetry's names where it has some; ``all`` lists them.
///
/// It stands before all other links: it measures calls, and counts what ``Curlew/Retry``, ``Curlew/Hedging``, ``Curlew/Redirects``
/// and the cache make of them. Copies of a link share what they count.
///
/// ```swift
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     RequestMetrics()
/// }
/// ```
///
/// A call notes its figures in about half a microsecond, and never calls the backend: that is done every 50 ms by a thread of the
/// link's own. If the backend blocks, calls go on, and what more than 8,192 notes hold is dropped and counted. The
/// gauges are read every ``gaugeInterval`` from each session that the link has sent requests over, as long as it lives.
///
/// Durations end with the head of a response; those of exchanges end with its body. The number of label values is
/// bounded: methods that the registry does not have and hosts beyond ``hostLimit`` are `_OTHER`. Nothing of a path, a query or
/// a field is in a label.
public struct RequestMetrics: CurlewMiddleware {
    /// The most pairs of host and port that labels name. 100 by default; those that come later are `_OTHER`.
    public var hostLimit: Int { core.hostLimit }
    /// The time between two readings of the gauges. 10 seconds by default.
    public var gaugeInterval: Duration { core.gaugeInterval }
    let core: MetricsCore

    /// - Parameters:
    ///   - factory: What makes the metrics; nil is `MetricsSystem.factory` at this moment.
    ///   - dimensions: Labels for all of them, such as the name of the client where a program has several: two links with the same
    ///     labels overwrite each other's gauges.
    ///   - hostLimit: The most pairs of host and port that labels name.
    ///   - gaugeInterval: The time between two readings of the gauges; 10 ms at least.
    ///   - budget: The budget for retries whose lowest level is to be a gauge; nil shows none.
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

    /// Reads the gauges, and waits until the backend has all that was measured. It waits for as long as the backend takes.
    public func flush() async { await core.flush() }
}
#endif
