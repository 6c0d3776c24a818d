package import HTTPTypes

/// An observer of one request on the wire that is also notified of the end of its exchange, if a session carries it.
package protocol ExchangeObserver: AttemptObserver {
    /// The exchange has ended, its body included. Called on its event loop: it returns at once.
    func exchangeEnded(_ exchange: EndedExchange)
}

extension ExchangeObserver {
    package var takesFigures: Bool { true }
}

/// What became of an exchange.
package struct EndedExchange: Sendable {
    /// The request as it was sent.
    package let request: CurlewRequest
    /// The head of its response; nil if none came.
    package let head: HTTPResponse?
    /// What it took.
    package let metrics: TaskMetrics
    /// The error that it ended with; nil if it went well.
    package let error: CurlewError?
}
