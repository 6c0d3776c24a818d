package import HTTPTypes

/// An observer of one call: a log, figures, a trace. A link adds it to the request, and it goes along with it.
///
/// Its functions are called where the call runs, and return at once.
package protocol CallObserver: AnyObject, Sendable {
    /// A request goes to the transport: once for each redirect, repetition, hedge and answer to a challenge.
    /// - Parameters:
    ///   - request: The request, which the observer may change, by the field of a trace for one.
    ///   - transport: What carries it.
    /// - Returns: What observes this request; nil for nothing.
    func willSend(_ request: inout CurlewRequest, over transport: any Sendable) -> (any AttemptObserver)?
    /// A redirect is followed.
    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int)
    /// A request is sent again after a wait.
    /// - Parameters:
    ///   - status: The status of the answer; nil if there was none.
    ///   - code: The error; nil if there was an answer.
    ///   - attempt: The number of the attempt that failed, from 1.
    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ code: ErrorCode?, after wait: Duration,
        _ attempt: Int)
    /// A request is sent once more, as its answer takes long.
    func hedging(_ request: CurlewRequest, attempt: Int)
    /// What came of the request has changed the state of a circuit.
    func circuitChanged(_ transition: CircuitTransition, _ request: CurlewRequest)
}

extension CallObserver {
    package func circuitChanged(_ transition: CircuitTransition, _ request: CurlewRequest) {}

    package func willSend(_ request: inout CurlewRequest, over transport: any Sendable) -> (any AttemptObserver)? {
        nil
    }
}

/// An observer of one request on the wire.
package protocol AttemptObserver: AnyObject, Sendable {
    /// True if it is to have the figures of an exchange, too: a cast would find that out, and cost more than most of a request's steps.
    var takesFigures: Bool { get }
    /// The head of a response has come, or the request has failed before. Called where the call runs.
    func answered(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>)
    /// An exchange of a session's that carried the request has ended, its body included. Called on its event loop: it returns at once.
    /// - Parameter exchange: Its number, which no other has.
    func ended(_ exchange: UInt64)
}

extension AttemptObserver {
    package var takesFigures: Bool { false }
    package func ended(_ exchange: UInt64) {}

    package func answered(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {}
}
