/// A listener to calls: their attempts, redirects, retries and ends.
///
/// ``CallListening`` is the link that adds a listener to the calls of a session. ``RequestLogging``, and
/// `RequestMetrics` and `RequestTracing` of CurlewService, are listeners too.
///
/// ```swift
/// final class SlowCalls: CallListener {
///     func receive(_ event: CallEvent) {
///         guard event.kind == .callEnded, let duration = event.duration, duration > .seconds(1) else { return }
///         print("\(event.request.uri.host) took \(duration)")
///     }
/// }
///
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     CallListening(SlowCalls())
/// }
/// ```
public protocol CallListener: AnyObject, Sendable {
    /// Receives an event. The events of one call arrive in order.
    func receive(_ event: CallEvent)

    /// Prepares an attempt: the listener may add fields to the request, such as the context of a trace. The default
    /// does nothing.
    ///
    /// It is called on the call's executor, before the event ``CallEvent/Kind/attemptStarted``, and must not block.
    /// - Parameters:
    ///   - request: The request of the attempt.
    ///   - call: The number of the call.
    ///   - attempt: The number of the attempt within its call, from 1.
    func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int)
}

extension CallListener {
    public func prepare(_ request: inout CurlewRequest, call: UInt64, attempt: Int) {}
}
