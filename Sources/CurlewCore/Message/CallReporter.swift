internal import HTTPTypes

/// The receiver of the reports that links make about a call. The request carries it.
protocol CallReporter: AnyObject, Sendable {
    /// A redirect is followed.
    func redirected(_ status: HTTPResponse.Status, to request: CurlewRequest, number: Int)
    /// A request is sent again after a wait.
    /// - Parameters:
    ///   - status: The status of the response; nil if there was none.
    ///   - error: The error; nil if there was a response.
    ///   - attempt: The number of the attempt that failed, from 1.
    func retrying(
        _ request: CurlewRequest, _ status: HTTPResponse.Status?, _ error: CurlewError?, after wait: Duration,
        _ attempt: Int)
    /// A second copy of a request is sent because the response is late.
    func hedging(_ request: CurlewRequest, attempt: Int)
    /// The result of the request has changed the state of a circuit.
    func circuitChanged(_ transition: CircuitTransition, _ request: CurlewRequest)
    /// A request is passed to the transport. The listeners of the attempt may change its fields.
    /// - Parameter gauges: The source of the figures of the session that carries the request; nil for another
    ///   transport.
    /// - Returns: The receiver of the attempt's reports; nil without a listener.
    func attemptBegins(
        _ request: inout CurlewRequest, gauges: (any AnyObject & Sendable)?
    ) -> (any AttemptReporter)?
}

/// The receiver of the reports about one attempt. It also watches the exchange of the attempt, if a session carries it.
protocol AttemptReporter: ExchangeWatcher {
    /// The head of a response has arrived.
    func answered(_ request: CurlewRequest, _ response: CurlewResponse)
    /// The attempt has failed before the head of a response arrived.
    func failed(_ request: CurlewRequest, _ error: any Error)
}

/// An object that is notified of the end of a request's exchange.
package protocol ExchangeWatcher: AnyObject, Sendable {
    /// The exchange has ended, its body included. Called on the exchange's event loop, so it must return at once.
    func ended(_ exchange: any ResponseExchange)
}

extension CurlewRequest {
    /// Reports that the result of the request has changed the state of a circuit.
    package func reportCircuit(_ transition: CircuitTransition) { reporter?.circuitChanged(transition, self) }
}
