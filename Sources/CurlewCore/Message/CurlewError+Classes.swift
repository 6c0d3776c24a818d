public import HTTPTypes

// Questions about an error, answered from the classes of its code.
extension CurlewError {
    /// True if a time limit was exceeded: ``ErrorCode/isTimeout``.
    ///
    /// ```swift
    /// do {
    ///     return try await api.get("slow")
    /// } catch let error as CurlewError where error.isTimeout {
    ///     return fallback
    /// }
    /// ```
    public var isTimeout: Bool { code.isTimeout }

    /// True if the cause may be temporary, so the same call may succeed later: ``ErrorCode/isTransient``, and
    /// ``ErrorCode/unacceptableStatus`` with a status of 408, 429, 500, 502, 503 or 504.
    ///
    /// The property does not mean that the request may be sent again. That requires an idempotent request, or a failure
    /// before there was a connection.
    public var isTransient: Bool {
        if code == .unacceptableStatus, let status { return HTTPResponse.Status.transient.contains(status) }
        return code.isTransient
    }

    /// True if the call was cancelled: ``ErrorCode/cancelled``. Every call throws this code if its task is cancelled.
    public var isCancellation: Bool { code == .cancelled }

    /// True if there was no connection to send the request over: ``ErrorCode/isConnectFailure``.
    public var isConnectFailure: Bool { code.isConnectFailure }

    /// True if the server is not trusted, the server does not trust this client, or both cannot agree on TLS:
    /// ``ErrorCode/isTrustFailure``. ``serverTrust`` has the host and the chain.
    public var isTrustFailure: Bool { code.isTrustFailure }

    /// The status of the response; nil without a response.
    public var status: HTTPResponse.Status? { response?.status }

    /// True if an error reports the cancellation of its task: a `CurlewError` with ``ErrorCode/cancelled``, or Swift's
    /// `CancellationError`, which the caller's own code may throw.
    ///
    /// ```swift
    /// do {
    ///     try await synchronize()
    /// } catch where CurlewError.isCancellation(error) {
    ///     return
    /// }
    /// ```
    public static func isCancellation(_ error: any Error) -> Bool {
        error is CancellationError || (error as? CurlewError)?.isCancellation == true
    }

    /// Converts Swift's cancellation error. The library throws it in no other form.
    package init(_ cancellation: CancellationError, context: Context = Context()) {
        self.init(.cancelled, "the task was cancelled", context: context, underlying: cancellation)
    }

    /// Converts an error of any type: one of the program's own errors becomes ``ErrorCode/foreignFailure``.
    @inline(never)
    package init(wrapping error: any Error) {
        switch error {
        case let error as CurlewError: self = error
        case let error as CancellationError: self.init(error)
        case let error as JSONCoding.Failure: self.init(error)
        default:
            self.init(.foreignFailure, "a link or a closure of the program's own failed", underlying: error)
        }
    }

    /// Converts an error of any type and adds the request that failed.
    @inline(never)
    init(wrapping error: any Error, _ request: CurlewRequest) {
        switch error {
        case let error as CurlewError: self = error
        case let error as CancellationError: self.init(error, of: request)
        default: self = CurlewError(wrapping: error).adding(request)
        }
    }

    // The initializer is not inlined: otherwise an async function that makes an error would reserve space for the
    // variables of the initializer in its frame.

    /// - Parameter request: The request of the task that was cancelled.
    @inline(never)
    init(_ cancellation: CancellationError, of request: CurlewRequest) {
        self.init(
            cancellation,
            context: Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries))
    }

    /// The same error with the method and the URI of its request, where it has none yet.
    @inline(never)
    package func adding(_ request: CurlewRequest) -> CurlewError {
        adding(
            Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries))
    }
}
