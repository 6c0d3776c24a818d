public import HTTPTypes

/// An event of a call, or of one of its attempts.
///
/// A call has one ``Kind/callStarted`` and one ``Kind/callEnded``. Each attempt has one ``Kind/attemptStarted`` and one
/// ``Kind/attemptEnded``, however it ends: by cancellation and by the shutdown of the session, too. A call that a cache answers has
/// no attempt, unless it is validated behind the caller's back (``HTTPCache``), which may be after the call. An attempt may end after its
/// call, as a call ends with the head of the response, and an attempt with the body.
public struct CallEvent: Sendable {
    /// A kind of event.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        // A number: several kinds are compared for each event.
        let number: UInt8

        /// A call begins.
        public static let callStarted = Kind(number: 0)
        /// A request goes to the transport: once for each redirect, retry, hedge and response to a challenge.
        public static let attemptStarted = Kind(number: 1)
        /// The head of an attempt's response has come: ``CallEvent/response``.
        public static let responseReceived = Kind(number: 2)
        /// An attempt has ended, its body included. It has ``CallEvent/response``, ``CallEvent/error`` and, if a session carried it,
        /// ``CallEvent/metrics``.
        public static let attemptEnded = Kind(number: 3)
        /// A redirect is followed: ``CallEvent/status`` is that of the response that asked for it, ``CallEvent/request`` the request that
        /// follows, ``CallEvent/number`` the number of the redirect.
        public static let redirected = Kind(number: 4)
        /// A request is sent again after ``CallEvent/wait``: ``CallEvent/status`` or ``CallEvent/error`` is the reason,
        /// ``CallEvent/number`` the number of the attempt that failed.
        public static let retrying = Kind(number: 5)
        /// A request is sent once more, as its response takes long. ``CallEvent/number`` is the number of the hedge.
        public static let hedging = Kind(number: 6)
        /// The result of a request has changed the state of a circuit: ``CallEvent/circuit``.
        public static let circuitChanged = Kind(number: 7)
        /// A call has ended for the listener's link: with the head of a response, or with an error.
        public static let callEnded = Kind(number: 8)

        /// The name of the kind, such as `attempt-ended`.
        public var description: String { Self.names[Int(number)] }

        private static let names = [
            "call-started", "attempt-started", "response-received", "attempt-ended", "redirected", "retrying",
            "hedging",
            "circuit-changed", "call-ended",
        ]
    }

    /// Kinds of events that a listener wants: no event is made that none wants.
    package struct Kinds: OptionSet, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package init(_ kinds: Kind...) { self.init(rawValue: kinds.reduce(0) { $0 | 1 << UInt16($1.number) }) }

        package static let all = Kinds(rawValue: .max)

        func contains(_ kind: Kind) -> Bool { rawValue & 1 << UInt16(kind.number) != 0 }

        /// True if any event of an attempt is among them.
        var concernAttempts: Bool { !isDisjoint(with: Kinds(.attemptStarted, .responseReceived, .attemptEnded)) }
    }

    /// The kind of the event.
    public let kind: Kind
    /// The number of the call, which no other call of the process has.
    public let call: UInt64
    /// The number of the attempt within its call, from 1; 0 in the events of the call itself.
    public let attempt: Int
    /// The request, as it is at this moment.
    public package(set) var request: CurlewRequest
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
