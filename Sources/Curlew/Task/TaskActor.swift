public import HTTPTypes

/// One exchange: made by a session, run on its event loop, ended exactly once.
///
/// A task starts suspended. ``resume()``, ``suspend()`` and ``cancel()`` may be called at any moment, from any thread,
/// any number of times. Nobody has to hold a task that runs: the session does, until its response has been read.
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
    /// The request as it was given.
    public nonisolated var request: CurlewRequest { exchange.request }
    /// What the task is for. It becomes ``TaskActor/Kind/download`` where ``RequestOptions/onResponse`` wants that.
    public nonisolated var kind: TaskActor.Kind { exchange.kind }
    /// The caller's word for the task (``RequestOptions/tag``).
    public nonisolated var tag: String? { request.options.tag }

    // MARK: Steering

    /// Starts the task, or lets its bytes flow again.
    public nonisolated func resume() { exchange.resume() }

    /// Stops the bytes in both directions until ``resume()``. Meanwhile the idle timeout does not run; connect and total do.
    ///
    /// What is on its way already may still arrive, as far as buffers go. A task that is suspended while it waits for its turn does
    /// not begin; one that is connecting goes on doing so and may send the head of its request, but nothing of a body.
    public nonisolated func suspend() { exchange.suspend() }

    /// Ends the task with ``ErrorCode/cancelled``, unless it has ended.
    public nonisolated func cancel() { exchange.cancel() }

    // MARK: The response

    /// Waits for the head of the response. Cancelling the waiting task cancels the exchange.
    ///
    /// All who wait when the head arrives get the same response; its body can be read once. Whoever asks later gets
    /// ``ErrorCode/responseAlreadyTaken``.
    public nonisolated func response() async throws -> CurlewResponse { try await exchange.response() }

    // MARK: Limits of rate

    /// How fast the task's bodies may flow, the session's limit aside.
    public var rateLimit: RateLimit { exchange.rateLimit }

    /// Limits how fast the task's bodies may flow, from now on. ``RateLimit/none`` lifts the limit, at once; that of the session
    /// holds on.
    public nonisolated func setRateLimit(_ limit: RateLimit) { exchange.onLoop { $0.rateLimit = limit } }

    // MARK: What can be seen of it, at any moment

    /// Where the task is in its life.
    public var state: TaskActor.State { exchange.lifecycle.state }

    /// The task's figures up to this moment.
    public var metrics: TaskMetrics { exchange.metrics }

    /// The status of the response, once its head has come.
    public var status: HTTPResponse.Status? { exchange.head?.status }

    /// How far the task has got at this moment.
    public var currentProgress: TaskProgress { exchange.progress }

    /// The interim responses (1xx), those that have come and those to come, at most ``CurlewResponse/Limits/interimResponses``.
    /// It ends when the final head arrives or the task ends.
    public var interimResponses: AsyncStream<HTTPResponse> { exchange.interimResponses() }

    /// The task's progress: the newest value whenever it is asked for, at most as often as
    /// ``SessionConfiguration/progressInterval`` allows, and one last element when the task has ended, however it did.
    public nonisolated var progress: TaskProgress.Updates { TaskProgress.Updates(of: exchange) }
}

extension CurlewResponse {
    /// The task that carried the response; nil where none did, as in a stub.
    public var task: TaskActor? { (exchange as? Exchange)?.face }
}
