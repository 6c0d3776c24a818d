public import HTTPTypes

/// An event of a call, or of one of its attempts.
///
/// A call has one ``Kind/callStarted`` and one ``Kind/callEnded``. Each attempt has one ``Kind/attemptStarted`` and one
/// ``Kind/attemptEnded``, however it ends: by cancellation and by the shutdown of the session, too. A call that a cache answers has
/// no attempt. An attempt may end after its call, as a call ends with the head of the response, and an attempt with the body.
public struct CallEvent: Sendable {
    /// A kind of event.
    public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A call begins.
        public static let callStarted = Kind(rawValue: "call-started")
        /// A request goes to the transport: once for each redirect, retry, hedge and response to a challenge.
        public static let attemptStarted = Kind(rawValue: "attempt-started")
        /// The head of an attempt's response has come: ``CallEvent/response``.
        public static let responseReceived = Kind(rawValue: "response-received")
        /// An attempt has ended, its body included. It has ``CallEvent/response``, ``CallEvent/error`` and, if a session carried it,
        /// ``CallEvent/metrics``.
        public static let attemptEnded = Kind(rawValue: "attempt-ended")
        /// A redirect is followed: ``CallEvent/status`` is that of the response that asked for it, ``CallEvent/request`` the request that
        /// follows, ``CallEvent/number`` the number of the redirect.
        public static let redirected = Kind(rawValue: "redirected")
        /// A request is sent again after ``CallEvent/wait``: ``CallEvent/status`` or ``CallEvent/error`` is the reason,
        /// ``CallEvent/number`` the number of the attempt that failed.
        public static let retrying = Kind(rawValue: "retrying")
        /// A request is sent once more, as its response takes long. ``CallEvent/number`` is the number of the hedge.
        public static let hedging = Kind(rawValue: "hedging")
        /// The result of a request has changed the state of a circuit: ``CallEvent/circuit``.
        public static let circuitChanged = Kind(rawValue: "circuit-changed")
        /// A call has ended for the listener's link: with the head of a response, or with an error.
        public static let callEnded = Kind(rawValue: "call-ended")

        public var description: String { rawValue }
    }

    /// The kind of the event.
    public let kind: Kind
    /// The number of the call, which no other call of the process has.
    public let call: UInt64
    /// The number of the attempt within its call, from 1; 0 in the events of the call itself.
    public let attempt: Int
    /// The request, as it is at this moment.
    public let request: CurlewRequest
    /// The head of the response.
    public package(set) var response: HTTPResponse?
    /// The status that led to a redirect or a retry.
    public package(set) var status: HTTPResponse.Status?
    /// The error of the attempt or the call, or the reason of a retry. It is no ``CurlewError`` where a link has thrown another.
    public package(set) var error: (any Error)?
    /// The number of a redirect, a hedge, or the attempt that failed before a retry.
    public package(set) var number = 0
    /// The time before a retry.
    public package(set) var wait: Duration?
    /// The time from the start of the call to its end.
    public package(set) var duration: Duration?
    /// The figures of an attempt that a session carried.
    public package(set) var metrics: TaskMetrics?
    /// The change of a circuit.
    public package(set) var circuit: CircuitTransition?
    /// The session that carries the attempt, for listeners of Curlew's own, which do not keep it; nil for another transport.
    package var session: (any AnyObject & Sendable)?

    /// The code of the error. An error that is neither Curlew's nor a cancellation has `_OTHER`, as OpenTelemetry calls it.
    public var errorCode: ErrorCode? {
        switch error {
        case nil: nil
        case let error as CurlewError: error.code
        case is CancellationError: .cancelled
        default: ErrorCode(rawValue: "_OTHER")
        }
    }

    package init(_ kind: Kind, call: UInt64, attempt: Int = 0, _ request: CurlewRequest) {
        self.kind = kind
        self.call = call
        self.attempt = attempt
        self.request = request
    }
}
