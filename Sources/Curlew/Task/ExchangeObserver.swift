package import HTTPTypes

/// An observer of the ends of exchanges.
package protocol ExchangeObserver: Sendable {
    /// An exchange has ended, its body included. Called on its event loop: it returns at once.
    func exchangeEnded(_ exchange: EndedExchange)
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

extension RequestOptions {
    private enum ExchangeObserversKey: Key {
        static let defaultValue: [any ExchangeObserver] = []
        static let affectsResponse = false
    }

    /// The observers of the end of the exchange.
    package var exchangeObservers: [any ExchangeObserver] {
        get { self[ExchangeObserversKey.self] }
        set { self[ExchangeObserversKey.self] = newValue }
    }
}
