public import HTTPTypes

// What a caller asks an error, made from the classes of its code.
extension CurlewError {
    /// True if time ran out: ``ErrorCode/isTimeout``.
    ///
    /// ```swift
    /// do {
    ///     return try await api.get("slow")
    /// } catch let error as CurlewError where error.isTimeout {
    ///     return fallback
    /// }
    /// ```
    public var isTimeout: Bool { code.isTimeout }

    /// True if the reason may pass, so that the same call may succeed later: ``ErrorCode/isTransient``, and
    /// ``ErrorCode/unacceptableStatus`` with a status of 408, 429, 500, 502, 503 or 504.
    ///
    /// It does not say that the request may be sent again: that takes a request that is idempotent, or a failure before there
    /// was a connection.
    public var isTransient: Bool {
        if code == .unacceptableStatus, let status { return HTTPResponse.Status.transient.contains(status) }
        return code.isTransient
    }

    /// True if the call was cancelled: ``ErrorCode/cancelled``. Every call throws that if its task is cancelled.
    public var isCancellation: Bool { code == .cancelled }

    /// True if there was no connection to send the request over: ``ErrorCode/isConnectFailure``.
    public var isConnectFailure: Bool { code.isConnectFailure }

    /// True if the server is not trusted, it does not trust this client, or the two cannot agree on TLS:
    /// ``ErrorCode/isTrustFailure``. ``serverTrust`` has the host and the chain.
    public var isTrustFailure: Bool { code.isTrustFailure }

    /// The status of the response; nil if none came.
    public var status: HTTPResponse.Status? { response?.status }

    /// True if an error says that its task was cancelled: Curlew's own with ``ErrorCode/cancelled``, or Swift's `CancellationError`,
    /// which the caller's own code throws beside it.
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

    /// Swift's error as one of the library, which throws no other where a task is cancelled.
    init(_ cancellation: CancellationError, context: Context = Context()) {
        self.init(.cancelled, "the task was cancelled", context: context, underlying: cancellation)
    }

    /// An error of any type as one of the library: ``ErrorCode/foreignFailure`` for one that is the program's own.
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

    /// An error of any type as one of the library, with the request that failed by it.
    @inline(never)
    init(wrapping error: any Error, _ request: CurlewRequest) {
        switch error {
        case let error as CurlewError: self = error
        case let error as CancellationError: self.init(error, of: request)
        default: self = CurlewError(wrapping: error).adding(request)
        }
    }

    // Not inlined: an async function that makes an error would keep room for all of it in its frame, while it waits.

    /// - Parameter request: The request of the task that was cancelled.
    @inline(never)
    init(_ cancellation: CancellationError, of request: CurlewRequest) {
        self.init(
            cancellation,
            context: Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries))
    }

    /// The same error with the method and the URI of its request; what it already knew stays.
    @inline(never)
    func adding(_ request: CurlewRequest) -> CurlewError {
        adding(
            Context(
                method: request.method, uri: request.uri, showsQuery: request.options.showsQueries))
    }
}
