package import HTTPTypes

/// An observer of one call: a log, figures, a trace. A link puts it into the options of the request, and it goes along with it.
///
/// Its functions are called where the call runs, and return at once.
package protocol CallObserver: Sendable {
    /// A request goes to the transport: once for each redirect, repetition, hedge and answer to a challenge.
    ///
    /// The observer may change it, by the field of a trace for one, and have the end of its exchange reported.
    /// - Parameter transport: What carries it.
    func willSend(_ request: inout CurlewRequest, over transport: any Transport)
    /// The head of a response has come, or the request has failed before.
    func didSend(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>)
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
}

extension CallObserver {
    package func willSend(_ request: inout CurlewRequest, over transport: any Transport) {}
    package func didSend(_ request: CurlewRequest, _ result: Result<CurlewResponse, any Error>) {}
}

extension RequestOptions {
    private enum ObserversKey: Key {
        static let defaultValue: [any CallObserver] = []
        static let affectsResponse = false
    }

    /// The observers of the call that the request belongs to, the outermost first.
    package var observers: [any CallObserver] {
        get { self[ObserversKey.self] }
        set { self[ObserversKey.self] = newValue }
    }

    func notifyObservers(_ body: (any CallObserver) -> Void) {
        guard isAnySet else { return }
        observers.forEach(body)
    }
}
