public import HTTPTypes

/// An event of a call, or of one of its attempts.
///
/// A call has one ``Kind/callStarted`` and one ``Kind/callEnded``. Each attempt has one ``Kind/attemptStarted`` and one
/// ``Kind/attemptEnded``, even if it is cancelled or the session is shut down.
///
/// A call that the cache answers has no attempt, unless the response is validated in the background (``HTTPCache``),
/// possibly after the call. An attempt may end after its call: a call ends with the head of the response, an attempt
/// with the body.
public struct CallEvent: Sendable {
    /// A kind of event.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        // The kind is stored as a number, because several kinds are compared for each event.
        let number: UInt8

        /// The call begins.
        public static let callStarted = Kind(number: 0)
        /// The request is passed to the transport: once for each redirect, retry, hedge and response to a challenge.
        public static let attemptStarted = Kind(number: 1)
        /// The head of an attempt's response has arrived: ``CallEvent/response``.
        public static let responseReceived = Kind(number: 2)
        /// The attempt has ended, including its body. The event has ``CallEvent/response``, ``CallEvent/error`` and,
        /// for an attempt of a session, ``CallEvent/metrics``.
        public static let attemptEnded = Kind(number: 3)
        /// A redirect is followed. ``CallEvent/status`` is the status of the redirect, ``CallEvent/request`` the next
        /// request, and ``CallEvent/number`` the number of the redirect.
        public static let redirected = Kind(number: 4)
        /// A request is sent again after ``CallEvent/wait``. ``CallEvent/status`` or ``CallEvent/error`` is the reason,
        /// and ``CallEvent/number`` the number of the failed attempt.
        public static let retrying = Kind(number: 5)
        /// A request is sent once more because its response is slow. ``CallEvent/number`` is the number of the hedge.
        public static let hedging = Kind(number: 6)
        /// The result of a request has changed the state of a circuit: ``CallEvent/circuit``.
        public static let circuitChanged = Kind(number: 7)
        /// The call has ended for the listener's link: with the head of a response, or with an error.
        public static let callEnded = Kind(number: 8)

        /// The name of the kind, such as `attempt-ended`.
        public var description: String { Self.names[Int(number)] }

        private static let names = [
            "call-started", "attempt-started", "response-received", "attempt-ended", "redirected", "retrying",
            "hedging",
            "circuit-changed", "call-ended",
        ]
    }

    /// The kinds of events that a listener wants. Other events are not created.
    package struct Kinds: OptionSet, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package init(_ kinds: Kind...) { self.init(rawValue: kinds.reduce(0) { $0 | 1 << UInt16($1.number) }) }

        package static let all = Kinds(rawValue: .max)

        func contains(_ kind: Kind) -> Bool { rawValue & 1 << UInt16(kind.number) != 0 }

        /// True if the set contains an event of an attempt.
        var concernAttempts: Bool { !isDisjoint(with: Kinds(.attemptStarted, .responseReceived, .attemptEnded)) }
    }

    /// The kind of the event.
    public let kind: Kind
    /// The number of the call, unique in the process.
    public let call: UInt64
    /// The number of the attempt within its call, from 1; 0 in the events of the call itself.
    public let attempt: Int
    /// The request at the time of the event.
    public package(set) var request: CurlewRequest
    /// The head of the response.
    public package(set) var response: HTTPResponse?
    /// The status that led to a redirect or a retry.
    public package(set) var status: HTTPResponse.Status?
    /// The error of the attempt or the call, or the reason of a retry. It may be of another type than ``CurlewError``
    /// if a link throws one.
    public package(set) var error: (any Error)?
    /// The number of the redirect or the hedge, or of the failed attempt before a retry.
    public package(set) var number = 0
    /// The time before a retry.
    public package(set) var wait: Duration?
    /// The time from the start of the call to its end.
    public package(set) var duration: Duration?
    /// The metrics of an attempt of a session.
    public package(set) var metrics: TaskMetrics?
    /// The change of a circuit.
    public package(set) var circuit: CircuitTransition?
    /// The source of the figures of the attempt's session, for Curlew's own listeners, which do not retain it; nil for
    /// another transport.
    package var gauges: (any AnyObject & Sendable)?

    /// The code of the error. An error that is neither Curlew's nor a cancellation has `_OTHER`, as in OpenTelemetry.
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
