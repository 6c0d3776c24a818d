internal import HTTPTypes

/// The exchange that brought a response, as far as those who read the response have to do with it.
protocol ResponseExchange: AnyObject, Sendable {
    /// The request as it was sent.
    var request: CurlewRequest { get }
    /// A number that no other exchange of the process has.
    var number: UInt64 { get }
    /// True if anybody listens to what is reported.
    var isObserved: Bool { get }
    /// True if it went over TLS, and its policy takes nobody for the host whose certificate was not verified.
    var isVerified: Bool { get }

    /// True if an object is notified of the end of the exchange.
    func isWatched(by watcher: any ExchangeWatcher) -> Bool

    /// Ends the exchange, unless it has ended.
    func cancel()

    /// Publishes what became of the response, behind the end of the exchange.
    func report(_ outcome: ResponseOutcome)
}

/// What became of a response after its exchange.
enum ResponseOutcome: Sendable {
    /// A serializer made a value of it, or failed to.
    /// - Parameters:
    ///   - serializer: The serializer's type.
    ///   - head: The head of the response.
    ///   - body: The bytes that it read; empty if it reads no whole bodies.
    case serialized(by: String, head: HTTPResponse, body: [UInt8], Result<any Sendable, any Error>)
    /// Its body is in a file that has its name.
    case moved(path: String)
    /// Its body is in a file that could not be given its name.
    case moveFailed(path: String, CurlewError)
}
