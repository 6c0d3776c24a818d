public import HTTPTypes

/// A task: one exchange, which a session creates, its event loop runs, and that ends exactly once.
///
/// A task starts suspended. ``resume()``, ``suspend()`` and ``cancel()`` may be called at any time, from any thread,
/// any number of times. The session retains a running task until its response has been read.
///
/// ```swift
/// let task = try session.dataTask(CurlewRequest(.get, "https://example.com/"))
/// task.resume()
/// let response = try await task.response()
/// ```
public actor TaskActor {
    nonisolated let exchange: Exchange

    init(of exchange: Exchange) { self.exchange = exchange }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { exchange.host.loop.asUnownedSerialExecutor() }

    /// The number of the task.
    public nonisolated var id: TaskActor.Identifier { TaskActor.Identifier(number: exchange.number) }
    /// The original request.
    public nonisolated var request: CurlewRequest { exchange.request }
    /// The purpose of the task. It becomes ``TaskActor/Kind/download`` if ``RequestOptions/onResponse`` decides so.
    public nonisolated var kind: TaskActor.Kind { exchange.kind }
    /// The caller's label for the task (``RequestOptions/tag``).
    public nonisolated var tag: String? { request.options.tag }

    // MARK: Control

    /// Starts the task, or resumes its transfer.
    public nonisolated func resume() { exchange.resume() }

    /// Suspends the transfer in both directions until ``resume()``. The idle timeout is suspended; the connect and
    /// total timeouts are not.
    ///
    /// Bytes in buffers may still arrive. A task that is suspended while it waits for its turn does not begin. A task
    /// that is connecting continues to connect, and may send the head of its request but no body.
    public nonisolated func suspend() { exchange.suspend() }

    /// Cancels the task with ``ErrorCode/cancelled``, unless it has ended.
    public nonisolated func cancel() { exchange.cancel() }

    // MARK: Response

    /// Waits for the head of the response, and for the decision of ``RequestOptions/onResponse``. Cancellation of a
    /// waiting Swift task cancels the exchange.
    ///
    /// All callers that wait when the head arrives get the same response; its body can be read once. Later callers get
    /// ``ErrorCode/responseAlreadyTaken``.
    public nonisolated func response() async throws -> CurlewResponse { try await exchange.response() }

    // MARK: Rate limits

    /// The rate limit of the task's bodies. The session's limit applies in addition.
    public var rateLimit: RateLimit { exchange.rateLimit }

    /// Limits the rate of the task's bodies from now on. ``RateLimit/none`` removes the limit at once; the session's
    /// limit still applies.
    public nonisolated func setRateLimit(_ limit: RateLimit) { exchange.onLoop { $0.rateLimit = limit } }

    // MARK: Inspection

    /// The present state of the task.
    public var state: TaskActor.State { exchange.lifecycle.state }

    /// The task's metrics so far.
    public var metrics: TaskMetrics { exchange.metrics }

    /// The status of the response; nil before its head has arrived.
    public var status: HTTPResponse.Status? { exchange.head?.status }

    /// The progress of the task at present.
    public var currentProgress: TaskProgress { exchange.progress }

    /// The interim responses (1xx) so far and later ones, at most ``CurlewResponse/Limits/interimResponses``. The
    /// stream ends when the final head arrives or the task ends.
    public var interimResponses: AsyncStream<HTTPResponse> { exchange.interimResponses() }

    /// The task's progress: the latest value on each request, at most as often as
    /// ``SessionConfiguration/progressInterval`` allows. The last element follows the end of the task, successful or
    /// not.
    public nonisolated var progress: TaskProgress.Updates { TaskProgress.Updates(of: exchange) }
}

extension CurlewResponse {
    /// The task that received the response; nil for a response without one, such as a stub's.
    public var task: TaskActor? { (exchange as? Exchange)?.face }
}
