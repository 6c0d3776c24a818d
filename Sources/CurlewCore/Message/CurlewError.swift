public import FoundationEssentials
public import HTTPTypes

/// The error type of the library: the kind of failure, the request, the stage it reached, and the response.
///
/// The description is safe to log. It contains no field values, user information or body bytes. It contains the query
/// only where ``RequestOptions/showsQueries`` is set.
public struct CurlewError: Error, Sendable {
    /// The stage that an exchange reached before it failed.
    public enum Stage: String, Sendable, Hashable, Codable {
        /// No byte was sent: the request is invalid, or it was still waiting for its turn.
        case preparing
        /// The host was being resolved, or the connection or the TLS handshake was being made.
        case connecting
        /// The connection existed; the request was being sent, or the response was awaited.
        case exchanging
        /// The head of the response had arrived.
        case receiving
    }

    // A single reference instead of a dozen fields keeps throwing paths and results small.
    private final class Storage: Sendable {
        let code: ErrorCode
        let message: String
        let context: Context
        let underlying: (any Error)?

        init(code: ErrorCode, message: String, context: Context, underlying: (any Error)?) {
            self.code = code
            // The message may quote a peer's text, which must not add lines to a log.
            self.message = message.replacingControlCharacters
            self.context = context
            self.underlying = underlying
        }
    }

    /// The known facts about the exchange.
    package struct Context: Sendable {
        var method: HTTPRequest.Method?
        var uri: CurlewURI?
        var stage = Stage.preparing
        var response: HTTPResponse?
        var bodyPrefix: [UInt8] = []
        var engineCode: Int?
        var attempts = 1
        var history: [CurlewResponse.Redirect] = []
        /// True if the description may contain the query.
        var showsQuery = false
        fileprivate var keyed = KeyedValues()

        package init(
            method: HTTPRequest.Method? = nil, uri: CurlewURI? = nil, stage: Stage = .preparing,
            response: HTTPResponse? = nil, bodyPrefix: [UInt8] = [], engineCode: Int? = nil, attempts: Int = 1,
            history: [CurlewResponse.Redirect] = [], showsQuery: Bool = false
        ) {
            self.showsQuery = showsQuery
            self.method = method
            self.uri = uri
            self.stage = stage
            self.response = response
            self.bodyPrefix = bodyPrefix
            self.engineCode = engineCode
            self.attempts = attempts
            self.history = history
        }

        /// The detail under a key.
        package subscript<K: Key>(key: K.Type) -> K.Value? {
            get { keyed[ObjectIdentifier(key)] }
            set { keyed[ObjectIdentifier(key)] = newValue }
        }
    }

    /// The key of a further detail that an error carries.
    public protocol Key {
        associatedtype Value: Sendable
    }

    private let storage: Storage

    /// - Parameters:
    ///  - code: The kind of failure.
    ///  - message: A description of the failure, without secrets.
    ///   - underlying: The error that caused this one.
    public init(_ code: ErrorCode, _ message: String, underlying: (any Error)? = nil) {
        self.init(code, message, context: Context(), underlying: underlying)
    }

    package init(_ code: ErrorCode, _ message: String, context: Context, underlying: (any Error)? = nil) {
        storage = Storage(
            code: code, message: message, context: context, underlying: underlying.map { Self.adopting($0) })
    }

    /// The kind of failure.
    public var code: ErrorCode { storage.code }
    /// A description of the failure.
    public var message: String { storage.message }
    /// The method of the request that failed.
    public var method: HTTPRequest.Method? { storage.context.method }
    /// The URI of the request that failed.
    public var uri: CurlewURI? { storage.context.uri }
    /// The stage that the exchange reached.
    public var stage: Stage { storage.context.stage }
    /// The head of the response, if one arrived.
    public var response: HTTPResponse? { storage.context.response }
    /// The first bytes of the response's body, at most ``bodyPrefixLimit``, if any were read.
    public var bodyPrefix: [UInt8] { storage.context.bodyPrefix }
    /// libcurl's number for the failure (`CURLcode`), if libcurl reported it.
    public var engineCode: Int? { storage.context.engineCode }
    /// The number of times that the request was sent, the first time included: more than 1 if ``Retry`` sent it again.
    public var attempts: Int { storage.context.attempts }
    /// The redirects that had been followed, in their order; see ``Redirects``.
    public var history: [CurlewResponse.Redirect] { storage.context.history }
    /// The error that caused this one.
    public var underlying: (any Error)? { storage.underlying }
    /// The known facts about the exchange.
    package var context: Context { storage.context }

    /// The detail under a key, if the error has it.
    public subscript<K: Key>(key: K.Type) -> K.Value? { storage.context[key] }

    /// The same error with a detail under a key. A detail that was there is replaced.
    public func adding<K: Key>(_ value: K.Value, for key: K.Type) -> CurlewError {
        var context = storage.context
        context[key] = value
        return CurlewError(code, message, context: context, underlying: underlying)
    }

    /// The most bytes of a body that an error keeps.
    public static let bodyPrefixLimit = 4096

    /// The same error with further facts about its exchange. Facts that it already has are kept.
    package func adding(_ context: Context) -> CurlewError {
        var merged = storage.context
        merged.method = merged.method ?? context.method
        merged.uri = merged.uri ?? context.uri
        merged.response = merged.response ?? context.response
        merged.showsQuery = merged.showsQuery || context.showsQuery
        merged.engineCode = merged.engineCode ?? context.engineCode
        merged.keyed.merge(context.keyed)
        merged.attempts = max(merged.attempts, context.attempts)
        merged.history = context.history + merged.history
        if merged.stage == .preparing { merged.stage = context.stage }
        if merged.bodyPrefix.isEmpty { merged.bodyPrefix = Array(context.bodyPrefix.prefix(Self.bodyPrefixLimit)) }
        return CurlewError(code, message, context: merged, underlying: underlying)
    }
}

extension CurlewError: CustomStringConvertible {
    public var description: String {
        var text = "\(code): \(message)"
        if let path { text += ", file \(path.replacingControlCharacters)" }
        if let method, let uri { text += " (\(method) \(uri.loggedText(showsQuery: context.showsQuery)))" }
        // The message of an unexpected status already contains the status.
        if let response, code != .unacceptableStatus { text += " [\(response.status.text)]" }
        if attempts > 1 { text += " after \(attempts) attempts" }
        // An error of another library may quote the data that it could not decode, so only its type is shown.
        if let cause = underlying as? CurlewError {
            text += "; caused by: \(cause)"
        } else if let underlying, !(underlying is DecodingError), !(underlying is CancellationError) {
            text += "; caused by: \(type(of: underlying))"
        }
        return text
    }
}

extension CurlewError: LocalizedError {
    /// The description, in one line.
    public var errorDescription: String? { description }
    /// The message alone.
    public var failureReason: String? { message }
}
