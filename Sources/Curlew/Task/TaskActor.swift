internal import HTTPTypes
internal import Synchronization

/// One exchange: made by a session, run on its event loop, ended exactly once.
///
/// A task starts suspended. ``resume()``, ``suspend()`` and ``cancel()`` may be called at any moment, from any thread,
/// any number of times. Nobody has to hold a task that runs: the session does, until its response has been read.
///
/// ```swift
/// let task = try session.dataTask(Request(.get, "https://example.com/"))
/// task.resume()
/// let response = try await task.response()
/// ```
public actor TaskActor: LoopActor {
    /// The number of the task.
    public nonisolated let id: TaskIdentifier
    private nonisolated let firstKind: TaskKind
    private nonisolated let hasBecomeDownload = Atomic(false)
    /// The request as it was given.
    public nonisolated let request: Request

    nonisolated let loop: EventLoop
    let prepared: PreparedRequest
    private let channel: BodyChannel
    nonisolated let shard: SessionShard
    /// Until the end, so that a session lives as long as its tasks run.
    @exclusivity(unchecked) private var session: SessionActor?

    @exclusivity(unchecked) private(set) var lifecycle = TaskLifecycle()
    private(set) var transfer: Transfer?
    private var hasBegun = false
    /// Whether it was suspended when its turn came, and has not begun.
    private var isHeld = false
    private(set) var startedAt = Instant(nanoseconds: 0)
    private(set) var endedAt: Instant?
    private(set) var holdTime = HoldTime()
    var ownRateLimit: RateLimit?
    /// Events that wait for the task's end.
    var heldEvents: [SessionEvent] = []
    var pump: Task<Void, Never>?
    var sources = 0

    private(set) var head: HTTPResponse?
    private var security: ConnectionSecurity?
    /// The version of a response that has come and that nobody has asked for yet.
    private var unclaimed: HTTPVersion?
    private(set) var end: CurlewError?
    @exclusivity(unchecked) private var firstWaiter: UnsafeContinuation<Delivery, any Error>?
    private var moreWaiters: [UnsafeContinuation<Delivery, any Error>] = []

    private var interimSeen = 0
    @exclusivity(unchecked) private(set) var interim: [HTTPResponse] = []
    @exclusivity(unchecked) var interimListeners: [AsyncStream<HTTPResponse>.Continuation] = []
    @exclusivity(unchecked) private(set) var attempts: [AttemptMetrics] = []
    @exclusivity(unchecked) private(set) var latest = TaskProgress()
    private var progressPublisher: ProgressPublisher?

    init(
        id: TaskIdentifier, kind: TaskKind, request: Request, prepared: PreparedRequest, shard: SessionShard,
        session: SessionActor
    ) {
        self.id = id
        firstKind = kind
        self.request = request
        self.prepared = prepared
        self.shard = shard
        self.session = session
        loop = shard.loop
        channel = BodyChannel(capacity: prepared.bodyBufferSize)
        ownRateLimit = request.options.rateLimit
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What the task is for. It becomes ``TaskKind/download`` where ``RequestOptions/onResponse`` wants that.
    public nonisolated var kind: TaskKind { hasBecomeDownload.load(ordering: .acquiring) ? .download : firstKind }

    nonisolated func becomeDownload() { hasBecomeDownload.store(true, ordering: .releasing) }

    /// The caller's word for the task (``RequestOptions/tag``).
    public nonisolated var tag: String? { request.options.tag }

    // MARK: Steering

    /// Starts the task, or lets its bytes flow again.
    public nonisolated func resume() { onLoop { $0.handle(.resume) } }

    /// Stops the bytes in both directions until ``resume()``. Meanwhile the idle timeout does not run; connect and total do.
    ///
    /// What is on its way already may still arrive, as far as buffers go. A task that is suspended while it waits for its turn does
    /// not begin; one that is connecting goes on doing so and may send the head of its request, but nothing of a body.
    public nonisolated func suspend() {
        channel.stop()
        onLoop { task in
            task.handle(.suspend)
            task.channel.stopIsKnown()
            // Where it was no news, what was kept back for it flows on.
            task.transfer?.readerMadeRoom()
        }
    }

    /// Ends the task with ``ErrorCode/cancelled``, unless it has ended.
    public nonisolated func cancel() { onLoop { $0.handle(.cancel) } }

    nonisolated func readerMadeRoom() { onLoop { $0.transfer?.readerMadeRoom() } }

    nonisolated func onLoop(_ action: @escaping @Sendable (isolated TaskActor) -> Void) {
        loop.core.execute { self.enter(action) { $1($0) } }
    }

    // MARK: The response

    /// Waits for the head of the response. Cancelling the waiting task cancels the exchange.
    ///
    /// All who wait when the head arrives get the same response; its body can be read once. Whoever asks later gets
    /// ``ErrorCode/responseAlreadyTaken``.
    public nonisolated func response() async throws -> Response { try await awaitResponse(resuming: false) }

    /// Starts the task and waits for the head.
    nonisolated func run() async throws -> Response { try await awaitResponse(resuming: true) }

    private nonisolated func awaitResponse(resuming: Bool) async throws -> Response {
        let (response, decision) = try await headArrival(resuming: resuming)
        // Mostly there is nothing to decide, and nothing to wait for.
        guard let decision else { return response }
        return try await decision.resolve(response)
    }

    private nonisolated func headArrival(resuming: Bool) async throws -> Delivery {
        defer { channel.rendezvous() }
        return try await withTaskCancellationHandler {
            // The continuation is made on the caller's side and resumed on the loop: two thread hops in all.
            try await withUnsafeThrowingContinuation { continuation in
                onLoop { task in
                    task.wait(with: continuation)
                    if resuming { task.handle(.resume) }
                    // Whoever holds later tells the task itself.
                    if resuming, task.request.options.hold?.isHeld == true { task.handle(.suspend) }
                }
            }
        } onCancel: {
            cancel()
        }
    }

    private func wait(with continuation: UnsafeContinuation<Delivery, any Error>) {
        defer { channel.rendezvous() }
        if let head, let version = unclaimed {
            unclaimed = nil
            resume(continuation, with: .success(makeResponse(head, version)))
        } else if let end {
            continuation.resume(throwing: end)
        } else if head != nil {
            continuation.resume(
                throwing: CurlewError(.responseAlreadyTaken, "the response was given to another caller"))
        } else if firstWaiter == nil {
            firstWaiter = continuation
        } else {
            moreWaiters.append(continuation)
        }
    }

    private func resolveWaiters(_ result: Result<Delivery, CurlewError>) -> Bool {
        guard let first = firstWaiter else { return false }
        firstWaiter = nil
        resume(first, with: result)
        for waiter in moreWaiters { resume(waiter, with: result) }
        moreWaiters = []
        return true
    }

    private func resume(
        _ waiter: UnsafeContinuation<Delivery, any Error>, with result: Result<Delivery, CurlewError>
    ) {
        channel.rendezvous()
        waiter.resume(with: result)
    }

    // MARK: Life

    private func handle(_ event: TaskLifecycle.Event) {
        switch lifecycle.handle(event) {
        case .nothing, .announceEnd: break
        case .start:
            startedAt = loop.core.now
            publish(.resumed)
            start()
        case .hold:
            holdTime.begin(at: loop.core.now)
            transfer?.setSuspended(true)
            publish(.suspended)
        case .release:
            holdTime.end(at: loop.core.now)
            if isHeld { beginHeld() } else { transfer?.setSuspended(false) }
            isHeld = false
            publish(.resumed)
        case .abort: abort(CurlewError(.cancelled, "the task was cancelled"))
        case .announceCancellation: announce(CurlewError(.cancelled, "the task was cancelled"))
        }
    }

    private func start() {
        switch shard.enter(self, { $0.admit($1) }) {
        case .begins(let multi): begin(on: multi)
        case .waits: break
        case .isRefused: abort(CurlewError(.sessionInvalidated, "the session takes no more tasks"))
        }
    }

    /// Its turn has come: hands the exchange to the engine.
    func begin(on multi: MultiHandle) {
        hasBegun = true
        let transfer = Transfer(request: prepared, channel: channel, multi: multi, observer: self)
        transfer.totalDeadline = startedAt.advanced(by: prepared.totalLimit)
        transfer.queued = startedAt.duration(to: loop.core.now)
        self.transfer = transfer
        latest.sent.total = prepared.contentLength
        if multi.rate != nil || ownRateLimit != nil { rateLimitsChanged() }
        isHeld = lifecycle.state == .suspended
        if isHeld { transfer.waitForRelease() } else { transfer.begin() }
    }

    /// Begins what the user has held until now. The session may have let its connections go meanwhile.
    private func beginHeld() {
        let multi = shard.enter(()) { shard, _ in shard.multi }
        if let transfer, transfer.multi !== multi {
            loop.core.timers.remove(transfer)
            begin(on: multi)
        } else {
            transfer?.begin()
        }
    }

    /// When the task gives up waiting in the session's queue.
    var queueDeadline: Instant { startedAt.advanced(by: prepared.totalLimit) }

    /// Ends the exchange, or the waiting for it.
    func abort(_ error: CurlewError) {
        if let transfer {
            transfer.fail(error)
        } else {
            announce(error)
        }
    }

    /// The end, once: everybody who waits is told, and the place in the session becomes free.
    private func announce(_ error: CurlewError?) {
        let state: TaskState = error == nil ? .completed : error?.code == .cancelled ? .cancelled : .failed
        if !lifecycle.state.isEnd { _ = lifecycle.handle(.finish(state)) }
        end = error?.adding(CurlewError.Context(method: request.method, uri: request.uri))
        endedAt = loop.core.now
        pump?.cancel()
        pump = nil
        attempts = transfer?.attempts ?? []
        transfer = nil
        if let end {
            channel.finish(.failure(end))
            _ = resolveWaiters(.failure(end))
        }
        interimListeners.forEach { $0.finish() }
        interimListeners = []
        latest.isFinished = true
        progressPublisher?.finish(latest)
        publish(.completed)
        shard.enter((self, hasBegun)) { $0.ended($1.0, hadBegun: $1.1) }
        session = nil
    }
}

extension TaskActor: TransferObserver {
    nonisolated func transferAdvanced(_ transfer: Transfer) {
        enter(transfer) { $0.take($1) }
    }

    private func take(_ transfer: Transfer) {
        takeInterim(transfer)
        if head == nil, let arrived = transfer.head {
            head = arrived
            deliverHead(arrived, transfer)
        }
        takeCounts(transfer)
        guard let outcome = transfer.outcome else { return }
        switch outcome {
        case .success: announce(nil)
        case .failure(let error): announce(error)
        }
    }

    private func takeInterim(_ transfer: Transfer) {
        while interimSeen < transfer.interim.count {
            let response = transfer.interim[interimSeen]
            interimSeen += 1
            interim.append(response)
            interimListeners.forEach { $0.yield(response) }
        }
    }

    private func deliverHead(_ head: HTTPResponse, _ transfer: Transfer) {
        interimListeners.forEach { $0.finish() }
        interimListeners = []
        latest.received.total = expectedLength(transfer)
        security = transfer.security
        guard firstWaiter != nil else {
            unclaimed = transfer.parser.version
            return
        }
        _ = resolveWaiters(.success(makeResponse(head, transfer.parser.version)))
    }

    /// A response, and the decision that all who wait for it share. It is made for who asks and not kept: the response knows
    /// the task.
    private typealias Delivery = (response: Response, decision: SharedDecision?)

    private func makeResponse(_ head: HTTPResponse, _ version: HTTPVersion) -> Delivery {
        transfer?.isClaimed = true
        let body = ResponseBody(
            storage: .source(BodyReader(channel: channel, task: self)), length: latest.received.total)
        var response = Response(
            head: head, body: body, version: version, uri: request.uri, interim: interim, exchange: self)
        if security != nil { response.security = security }
        return (response, request.options.onResponse.map(SharedDecision.init))
    }

    private func expectedLength(_ transfer: Transfer) -> Int64? {
        let status = transfer.parser.status
        if request.method == .head || status == 204 || status == 304 { return 0 }
        return transfer.parser.framing.contentLength
    }

    private func takeCounts(_ transfer: Transfer) {
        let sent = transfer.sentBody
        let received = transfer.receivedBody
        guard latest.sent.wire != sent || latest.received.wire != received else { return }
        latest.sent.wire = sent
        latest.sent.decoded = sent
        latest.received.wire = received
        latest.received.decoded = received
        progressPublisher?.publish(latest)
    }
}

extension TaskActor {
    /// The task's progress: the newest value whenever it is asked for, at most as often as
    /// ``SessionConfiguration/progressInterval`` allows, and one last element when the task has ended, however it did.
    public nonisolated var progress: ProgressSequence { ProgressSequence(task: self) }

    func publisher() -> ProgressPublisher {
        if let progressPublisher { return progressPublisher }
        let made = ProgressPublisher(latest, timers: loop.core, interval: shard.progressInterval)
        if lifecycle.state.isEnd { made.finish(latest) }
        progressPublisher = made
        return made
    }
}
