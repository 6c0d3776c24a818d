public import HTTPTypes
internal import Synchronization

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
public actor TaskActor: LoopActor {
    /// The number of the task.
    public nonisolated let id: TaskActor.Identifier
    private nonisolated let firstKind: TaskActor.Kind
    private nonisolated let hasBecomeDownload = Atomic(false)
    /// The request as it was given.
    public nonisolated let request: CurlewRequest

    nonisolated let loop: CurlewEventLoop
    nonisolated let host: any TaskHost
    /// The session, until the end, so that it lives as long as its tasks run.
    @exclusivity(unchecked) private var session: (any AnyObject & Sendable)?
    private let prepared: PreparedRequest
    /// The number of times that the user has asked for the bytes to stop of which the loop does not know yet. Until it knows, no
    /// more is taken: within one turn that may be many megabytes.
    private nonisolated let stops = Atomic(0)
    private nonisolated let ordering = Ordering()

    @exclusivity(unchecked) private(set) var lifecycle = TaskLifecycle()
    @exclusivity(unchecked) private var transfer: Transfer?
    /// The body of an exchange that has ended before anybody asked for its response.
    private var endedBody: Transfer.Body?
    private var startedAt = Instant(nanoseconds: 0)
    private var endedAt: Instant?
    private var suspendedTime = SuspendedTime()
    private var ownRateLimit: RateLimit?
    /// Events that wait for the task's end.
    var pendingEvents: [SessionEvent] = []

    @exclusivity(unchecked) private(set) var head: HTTPResponse?
    @exclusivity(unchecked) private var version = HTTPProtocolVersion.http11
    private var security: ConnectionSecurity?
    /// The error that it has ended with.
    private(set) var end: CurlewError?
    @exclusivity(unchecked) private var waiters = ResponseWaiters()
    @exclusivity(unchecked) private var interim = InterimResponses()
    @exclusivity(unchecked) private var attempts: [AttemptMetrics] = []
    @exclusivity(unchecked) private var latest = TaskProgress()
    private var progressPublisher: ProgressPublisher?

    /// - Parameter session: What is kept until the task has ended.
    init(
        id: TaskActor.Identifier, kind: TaskActor.Kind, request: CurlewRequest, prepared: PreparedRequest,
        host: any TaskHost,
        session: any AnyObject & Sendable
    ) {
        self.id = id
        firstKind = kind
        self.request = request
        self.prepared = prepared
        self.host = host
        self.session = session
        loop = host.loop
        ownRateLimit = request.options.rateLimit
    }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What the task is for. It becomes ``TaskActor/Kind/download`` where ``RequestOptions/onResponse`` wants that.
    public nonisolated var kind: TaskActor.Kind { hasBecomeDownload.load(ordering: .acquiring) ? .download : firstKind }

    nonisolated func becomeDownload() { hasBecomeDownload.store(true, ordering: .releasing) }

    nonisolated var isVerified: Bool {
        request.uri.layout.isSecure && prepared.options.values.security.verifies(request.uri.host)
    }

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
        stops.wrappingAdd(1, ordering: .relaxed)
        onLoop { task in
            task.handle(.suspend)
            task.stops.wrappingSubtract(1, ordering: .relaxed)
            // Where it changed nothing, what was kept back for it flows on.
            task.transfer?.readerMadeRoom()
        }
    }

    /// Ends the task with ``ErrorCode/cancelled``, unless it has ended.
    public nonisolated func cancel() { onLoop { $0.abort(CurlewError(.cancelled, "the task was cancelled")) } }

    nonisolated func readerMadeRoom() { onLoop { $0.transfer?.readerMadeRoom() } }

    nonisolated func onLoop(_ action: @escaping @Sendable (isolated TaskActor) -> Void) {
        loop.core.execute { self.enter(action) { $1($0) } }
    }

    // MARK: The response

    /// Waits for the head of the response. Cancelling the waiting task cancels the exchange.
    ///
    /// All who wait when the head arrives get the same response; its body can be read once. Whoever asks later gets
    /// ``ErrorCode/responseAlreadyTaken``.
    public nonisolated func response() async throws -> CurlewResponse { try await awaitResponse(resuming: false) }

    /// Starts the task and waits for the head.
    nonisolated func run() async throws -> CurlewResponse { try await awaitResponse(resuming: true) }

    private nonisolated func awaitResponse(resuming: Bool) async throws -> CurlewResponse {
        let response = try await headArrival(resuming: resuming)
        // Mostly there is nothing to decide, and nothing to wait for.
        guard request.options.onResponse != nil else { return response }
        return try await response.decided()
    }

    private nonisolated func headArrival(resuming: Bool) async throws -> CurlewResponse {
        defer { ordering.establish() }
        return try await withTaskCancellationHandler {
            // The continuation is made on the caller's side and resumed on the loop: two thread hops in all.
            try await withUnsafeThrowingContinuation { continuation in
                onLoop { task in
                    task.claim(for: continuation)
                    guard resuming else { return }
                    // Asked once: whoever resumes or suspends the call later does so with the task itself.
                    task.handle(task.request.options.suspensionGroup?.isHeld == true ? .startSuspended : .resume)
                }
            }
        } onCancel: {
            cancel()
        }
    }

    private func claim(for waiter: ResponseWaiters.Waiter) {
        defer { ordering.establish() }
        switch lifecycle.claim() {
        case .deliver:
            // The machine says so when there is a head, and not before.
            guard let head else { return waiters.append(waiter) }
            let response = makeResponse(head)
            ordering.establish()
            waiter.resume(returning: response)
        case .wait: waiters.append(waiter)
        case .fail: waiter.resume(throwing: end ?? CurlewError(.cancelled, "the task has ended"))
        case .refuse:
            waiter.resume(
                throwing: CurlewError(.responseAlreadyTaken, "the response was given to another caller"))
        }
    }

    /// Made for who asks, and not kept: the response knows the task.
    private func makeResponse(_ head: HTTPResponse) -> CurlewResponse {
        let body = CurlewResponse.Body(storage: .source(takeBody()), length: latest.received.total)
        var response = CurlewResponse(
            head: head, body: body, version: version, uri: request.uri,
            interim: interim.all, exchange: self)
        if security != nil { response.security = security }
        if let decide = request.options.onResponse { response.decision = SharedDecision(decide) }
        return response
    }

    private func takeBody() -> any BodySource {
        transfer?.isClaimed = true
        defer { endedBody = nil }
        switch transfer?.takeBody() ?? endedBody {
        case .whole(let body): return body
        case .arriving(let channel): return BodyReader(channel: channel, task: self)
        case nil: return WholeBody([], trailers: HTTPFields())
        }
    }

    // MARK: Life

    /// - Parameter error: What the task ends with, if that is what the event leads to.
    private func handle(_ event: TaskLifecycle.Event, _ error: CurlewError? = nil) {
        switch lifecycle.handle(event) {
        case .nothing: break
        case .enterQueue:
            startedAt = loop.core.now
            publish(.resumed)
            if lifecycle.state == .suspended { noteSuspension() }
            enterQueue()
        case .noteSuspension: noteSuspension()
        case .noteResumption: noteResumption()
        case .begin: makeTransfer().begin()
        case .prepare: makeTransfer().waitForRelease()
        case .beginPrepared:
            suspendedTime.end(at: loop.core.now)
            beginPrepared()
            publish(.resumed)
        case .pause:
            suspendedTime.begin(at: loop.core.now)
            transfer?.setSuspended(true)
            publish(.suspended)
        case .unpause:
            suspendedTime.end(at: loop.core.now)
            transfer?.setSuspended(false)
            publish(.resumed)
        case .abortExchange: if let error { transfer?.fail(error) }
        case .announceEnd(let heldPlace): announceEnd(error, heldPlace: heldPlace)
        }
    }

    private func noteSuspension() {
        suspendedTime.begin(at: loop.core.now)
        publish(.suspended)
    }

    private func noteResumption() {
        suspendedTime.end(at: loop.core.now)
        publish(.resumed)
    }

    private func enterQueue() {
        switch host.admit(self) {
        case .begins: handle(.turn)
        case .waits: break
        case .isRefused: abort(CurlewError(.sessionInvalidated, "the session takes no more tasks"))
        }
    }

    /// Its turn has come.
    func begin() { handle(.turn) }

    /// Ends the exchange, or the waiting for it.
    func abort(_ error: CurlewError) { handle(.abort(Self.endState(error)), error) }

    private static func endState(_ error: CurlewError?) -> TaskActor.State {
        guard let error else { return .completed }
        return error.code == .cancelled ? .cancelled : .failed
    }

    private func makeTransfer() -> Transfer {
        let engine = host.engine
        let made = Transfer(
            request: prepared, multi: engine, observer: self,
            queued: startedAt.duration(to: loop.core.now), totalDeadline: totalDeadline)
        transfer = made
        latest.sent.total = prepared.contentLength
        if engine.rate != nil || ownRateLimit != nil { rateLimitsChanged() }
        return made
    }

    /// Begins what the user has held until now. The session may have retired its connections meanwhile.
    private func beginPrepared() {
        if let transfer, transfer.multi === host.engine { return transfer.begin() }
        if let transfer { loop.core.timers.remove(transfer) }
        makeTransfer().begin()
    }

    /// When the task gives up, wherever it is then.
    var totalDeadline: Instant { startedAt.advanced(by: prepared.totalLimit) }

    /// The end: everybody who waits learns of it, and the place in the session becomes free.
    private func announceEnd(_ error: CurlewError?, heldPlace: Bool) {
        end = error?.adding(request)
        endedAt = loop.core.now
        attempts = transfer?.attempts ?? []
        if lifecycle.isHeadUnclaimed { endedBody = transfer?.takeBody() }
        transfer = nil
        // Before anybody hears of it who waits.
        if !request.attemptObservers.isEmpty { reportEnd() }
        if let end {
            ordering.establish()
            waiters.fail(with: end)
        }
        interim.finish()
        latest.isFinished = true
        progressPublisher?.finish(latest)
        publish(.completed)
        host.ended(self, heldPlace: heldPlace)
        session = nil
    }

    private func reportEnd() {
        var exchange: EndedExchange?
        for observer in request.attemptObservers {
            observer.ended(id.number)
            guard observer.takesFigures, let observer = observer as? any ExchangeObserver else { continue }
            let ended = exchange ?? EndedExchange(request: request, head: head, metrics: metrics, error: end)
            observer.exchangeEnded(ended)
            exchange = ended
        }
    }

    // MARK: Limits of rate

    /// How fast the task's bodies may flow, the session's limit aside.
    public var rateLimit: RateLimit { ownRateLimit ?? .none }

    /// Limits how fast the task's bodies may flow, from now on. ``RateLimit/none`` lifts the limit, at once; that of the session
    /// holds on.
    public nonisolated func setRateLimit(_ limit: RateLimit) {
        onLoop { task in
            task.ownRateLimit = limit
            task.rateLimitsChanged()
        }
    }

    /// The task's own limit or that of the session is another now.
    func rateLimitsChanged() { transfer?.setRateLimit(rateLimit) }

    // MARK: What can be seen of it, at any moment

    /// Where the task is in its life.
    public var state: TaskActor.State { lifecycle.state }

    /// The task's figures up to this moment.
    public var metrics: TaskMetrics {
        guard lifecycle.hasStarted else { return TaskMetrics(attempts: attempts) }
        let now = endedAt ?? loop.core.now
        return TaskMetrics(
            attempts: attempts, start: startedAt.date, duration: startedAt.duration(to: now),
            suspended: suspendedTime.total(at: now))
    }

    /// The status of the response, once its head has come.
    public var status: HTTPResponse.Status? { head?.status }

    /// How far the task has got at this moment.
    public var currentProgress: TaskProgress { latest }

    /// The interim responses (1xx), those that have come and those to come, at most ``CurlewResponse/Limits/interimResponses``.
    /// It ends when the final head arrives or the task ends.
    public var interimResponses: AsyncStream<HTTPResponse> { interim.stream() }

    /// The task's progress: the newest value whenever it is asked for, at most as often as
    /// ``SessionConfiguration/progressInterval`` allows, and one last element when the task has ended, however it did.
    public nonisolated var progress: TaskProgress.Updates { TaskProgress.Updates(task: self) }

    func publisher() -> ProgressPublisher {
        if let progressPublisher { return progressPublisher }
        let made = ProgressPublisher(latest, timers: loop.core, interval: host.progressInterval)
        if lifecycle.state.isEnd { made.finish(latest) }
        progressPublisher = made
        return made
    }
}

extension TaskActor: TransferObserver {
    nonisolated var isToStop: Bool { stops.load(ordering: .relaxed) > 0 }

    nonisolated func transferAdvanced(_ transfer: Transfer) {
        enter(transfer) { $0.take($1) }
    }

    private func take(_ transfer: Transfer) {
        interim.update(to: transfer.interim)
        if !lifecycle.hasHead, let head = transfer.head { takeHead(head, transfer) }
        takeCounts(transfer)
        guard let outcome = transfer.outcome else { return }
        switch outcome {
        case .success: handle(.end(.completed))
        case .failure(let error): handle(.end(Self.endState(error)), error)
        }
    }

    private func takeHead(_ head: HTTPResponse, _ transfer: Transfer) {
        self.head = head
        version = transfer.version
        security = transfer.security
        latest.received.total = transfer.expectedBodyBytes
        interim.finish()
        guard lifecycle.headArrives(isAwaited: !waiters.isEmpty) else { return }
        ordering.establish()
        waiters.resolve(with: makeResponse(head))
    }

    private func takeCounts(_ transfer: Transfer) {
        let sent = transfer.sentBodyBytes
        let received = transfer.receivedBodyBytes
        guard latest.sent.wire != sent || latest.received.wire != received else { return }
        latest.sent.wire = sent
        latest.received.wire = received
        progressPublisher?.publish(latest)
    }
}
