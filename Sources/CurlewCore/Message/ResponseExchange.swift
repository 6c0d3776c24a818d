internal import HTTPTypes

/// The exchange of a response, as seen by the readers of the response.
package protocol ResponseExchange: AnyObject, Sendable {
    /// The request as it was sent.
    var request: CurlewRequest { get }
    /// A number that no other exchange of the process has.
    var number: UInt64 { get }
    /// True if a listener receives the reports.
    var isObserved: Bool { get }
    /// True if the exchange used TLS, and its policy accepts only hosts with verified certificates.
    var isVerified: Bool { get }

    /// True if an object is notified of the end of the exchange.
    func isWatched(by watcher: any ExchangeWatcher) -> Bool

    /// Ends the exchange, unless it has ended.
    func cancel()

    /// Publishes the outcome of the response, after the end of the exchange.
    func report(_ outcome: ResponseOutcome)
}

/// The outcome of a response after its exchange.
package enum ResponseOutcome: Sendable {
    /// A serializer returned a value from the response, or failed.
    /// - Parameters:
    ///   - serializer: The serializer's type.
    ///   - head: The head of the response.
    ///  - body: The bytes that the serializer read; empty for a serializer of streams.
    case serialized(by: String, head: HTTPResponse, body: [UInt8], Result<any Sendable, any Error>)
    /// The file with the body has received its final name.
    case moved(path: String)
    /// The file with the body could not receive its final name.
    case moveFailed(path: String, CurlewError)
}
