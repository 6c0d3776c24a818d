internal import HTTPTypes
internal import Synchronization

/// An exchange: made by a session, run on its event loop, ended exactly once. ``TaskActor`` is its public face, made when somebody
/// asks for it.
///
/// `@unchecked Sendable`: from the moment that it is started it belongs to its loop; what others may reach is immutable, atomic or
/// under a lock.
final class Exchange: Transfer, ResponseExchange, @unchecked Sendable {
    /// A number that no other exchange of the process has.
    let number: UInt64
    /// The request as it was given.
    let request: CurlewRequest
    let host: ExchangeHost
    /// An object that is notified of the end, beside those of the request.
    private let watcher: (any ExchangeWatcher)?
    /// The session, until the end, so that it lives as long as its exchanges run.
    @exclusivity(unchecked) private var session: (any AnyObject & Sendable)?
    private let ordering = Ordering()
    private let hasBecomeDownload = Atomic(false)

    /// Its place among those of its host that have not ended.
    @exclusivity(unchecked) var place = -1
    /// Its place in the queue of the session; -1 unless it waits there.
    @exclusivity(unchecked) var queuePlace = -1
    @exclusivity(unchecked) private(set) var lifecycle = TaskLifecycle()
    /// The caller that has started it, and waits for the response. Written before the exchange is handed to the loop.
    @exclusivity(unchecked) private var starter: ResponseWaiters.Waiter?
    @exclusivity(unchecked) private var waiters = ResponseWaiters()
    @exclusivity(unchecked) private var startedAt = Instant(nanoseconds: 0)
    @exclusivity(unchecked) private var endedAt: Instant?
    /// The error that it has ended with.
    @exclusivity(unchecked) private(set) var end: CurlewError?
    @exclusivity(unchecked) private var madeExtras: Extras?

    // The public face: under the lock.
    private let faceLock = Lock()
    private weak var knownFace: TaskActor?
    private var keptFace: TaskActor?
    private let hasFace = Atomic(false)
    private let isRunning = Atomic(false)

    /// - Parameter session: What is kept until the exchange has ended.
    init(
        number: UInt64, _ request: CurlewRequest, prepared: PreparedRequest, host: ExchangeHost,
        session: any AnyObject & Sendable, watcher: (any ExchangeWatcher)?
    ) {
        self.number = number
        self.request = request
        self.host = host
        self.watcher = watcher
        self.session = session
        super.init(prepared, core: host.loop.core, heads: host.heads)
        if let limit = request.options.rateLimit { extras.rateLimit = limit }
    }

    /// The properties that few exchanges have.
    private final class Extras {
        var suspended = SuspendedTime()
        var rateLimit: RateLimit?
        var interim = InterimResponses()
        var progress: ProgressPublisher?
        /// Events that wait for the end.
        var pendingEvents: [SessionEvent] = []
    }

    private var extras: Extras {
        if let madeExtras { return madeExtras }
        let made = Extras()
        madeExtras = made
        return made
    }

    /// The purpose of the exchange.
    var kind: TaskActor.Kind { hasBecomeDownload.load(ordering: .acquiring) ? .download : request.options.kind }

    func isWatched(by other: any ExchangeWatcher) -> Bool {
        watcher === other || request.watchers.contains { $0 === other }
    }

    func becomeDownload() { hasBecomeDownload.store(true, ordering: .releasing) }

    /// The public face: one at a time, which lives as long as the exchange runs, or whoever holds it. From any thread.
    var face: TaskActor {
        // Before `isRunning` is looked at, as the loop does it the other way round: one of the two sees the other.
        hasFace.store(true, ordering: .sequentiallyConsistent)
        return faceLock.withLock {
            if let knownFace { return knownFace }
            let made = TaskActor(of: self)
            knownFace = made
            if isRunning.load(ordering: .sequentiallyConsistent) { keptFace = made }
            return made
        }
    }

    // MARK: From any thread

    /// Starts the exchange, or lets its bytes flow again.
    func resume() { core.send(.resume, to: self) }

    /// Stops the bytes.
    func suspend() {
        stops.wrappingAdd(1, ordering: .relaxed)
        core.send(.suspend, to: self)
    }

    /// Ends the exchange with ``ErrorCode/cancelled``, unless it has ended.
    func cancel() { core.send(.cancel, to: self) }

    /// The reader of the body has made room.
    func readOn() { core.send(.readOn, to: self) }

    func onLoop(_ action: @escaping @Sendable (Exchange) -> Void) { core.execute { action(self) } }

    // Inlined, these and the next two: each would be one more frame for every call.

    /// Starts the exchange and waits for the response.
    @inline(__always)
    func run() async throws -> CurlewResponse {
        try await awaitResponse { waiter in
            starter = waiter
            core.start(self)
        }
    }

    /// Waits for the response.
    func response() async throws -> CurlewResponse {
        try await awaitResponse { waiter in onLoop { $0.claim(for: waiter) } }
    }

    @inline(__always)
    private func awaitResponse(_ claim: (ResponseWaiters.Waiter) -> Void) async throws -> CurlewResponse {
        let response = try await headArrival(claim)
        // Mostly there is nothing to decide, and nothing to wait for.
        guard request.options.onResponse != nil else { return response }
        return try await response.decided()
    }

    @inline(__always)
    private func headArrival(_ claim: (ResponseWaiters.Waiter) -> Void) async throws -> CurlewResponse {
        defer { ordering.establish() }
        return try await withTaskCancellationHandler {
            // The continuation is made on the caller's side and resumed on the loop: two thread hops in all.
            try await withUnsafeThrowingContinuation { claim($0) }
        } onCancel: {
            cancel()
        }
    }

    // MARK: On the loop

    override func perform(_ command: Command) {
        switch command {
        case .start:
            if let starter { claim(for: starter) }
            starter = nil
            // Asked once: whoever resumes or suspends the call later does so with the exchange itself.
            handle(request.options.suspensionGroup?.isHeld == true ? .startSuspended : .resume)
        case .resume: handle(.resume)
        case .suspend:
            handle(.suspend)
            stops.wrappingSubtract(1, ordering: .relaxed)
            // The bytes that were kept back for it flow on, if it has changed nothing.
            readerMadeRoom()
        case .cancel: abort(CurlewError(.cancelled, "the task was cancelled"))
        case .readOn, .lookForEnd: super.perform(command)
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

    /// Made for who asks, and not kept: the response knows the exchange.
    private func makeResponse(_ head: HTTPResponse) -> CurlewResponse {
        let source: any BodySource =
            switch takeBody() {
            case .whole(let body): body
            case .arriving(let channel): BodyReader(channel: channel, exchange: self)
            }
        let body = CurlewResponse.Body(storage: .source(source), length: expectedBodyBytes)
        var response = CurlewResponse(
            head: head, body: body, version: version, uri: request.uri, interim: madeExtras?.interim.all ?? [],
            exchange: self)
        if let security { response.security = security }
        if let decide = request.options.onResponse { response.decision = SharedDecision(decide) }
        return response
    }

    /// - Parameter error: What the exchange ends with, if that is what the event leads to.
    private func handle(_ event: TaskLifecycle.Event, _ error: CurlewError? = nil) {
        switch lifecycle.handle(event) {
        case .nothing: break
        case .enterQueue:
            startedAt = core.now
            isRunning.store(true, ordering: .sequentiallyConsistent)
            if hasFace.load(ordering: .sequentiallyConsistent) { keepFace() }
            publish(.resumed)
            if lifecycle.state == .suspended { noteSuspension() }
            enterQueue()
        case .noteSuspension: noteSuspension()
        case .noteResumption: noteResumption()
        case .begin:
            prepareToBegin()
            begin()
        case .prepare: prepareToBegin()
        case .beginPrepared:
            madeExtras?.suspended.end(at: core.now)
            // The session may have retired its connections meanwhile.
            if !isCarried(by: host.engine) { prepareToBegin() }
            begin()
            publish(.resumed)
        case .pause:
            extras.suspended.begin(at: core.now)
            setSuspended(true)
            publish(.suspended)
        case .unpause:
            madeExtras?.suspended.end(at: core.now)
            setSuspended(false)
            publish(.resumed)
        case .abortExchange: if let error { fail(error) }
        case .announceEnd(let heldPlace): announceEnd(error, heldPlace: heldPlace)
        }
    }

    private func noteSuspension() {
        extras.suspended.begin(at: core.now)
        publish(.suspended)
    }

    private func noteResumption() {
        madeExtras?.suspended.end(at: core.now)
        publish(.resumed)
    }

    private func enterQueue() {
        switch host.admit(self) {
        case .begins: handle(.turn)
        case .waits: break
        case .isRefused: abort(CurlewError(.sessionInvalidated, "the session takes no more tasks"))
        }
    }

    private func prepareToBegin() {
        let engine = host.engine
        prepare(on: engine, queued: startedAt.duration(to: core.now), until: totalDeadline)
        if engine.rate != nil || madeExtras?.rateLimit != nil { rateLimitsChanged() }
    }

    /// When the exchange gives up, wherever it is then.
    var totalDeadline: Instant { startedAt.advanced(by: prepared.timeLimits.total) }

    /// Its turn has come.
    func takeTurn() { handle(.turn) }

    /// Ends the exchange, or the waiting for it.
    func abort(_ error: CurlewError) { handle(.abort(Self.endState(error)), error) }

    private static func endState(_ error: CurlewError?) -> TaskActor.State {
        guard let error else { return .completed }
        return error.code == .cancelled ? .cancelled : .failed
    }

    // MARK: What the engine does

    override func advanced() {
        if !interim.isEmpty { extras.interim.update(to: interim) }
        if !lifecycle.hasHead, let head { takeHead(head) }
        madeExtras?.progress?.publish(progress)
        switch outcome {
        case nil: break
        case .success: handle(.end(.completed))
        case .failure(let error): handle(.end(Self.endState(error)), error)
        }
    }

    private func takeHead(_ head: HTTPResponse) {
        madeExtras?.interim.finish()
        guard lifecycle.headArrives(isAwaited: !waiters.isEmpty) else { return }
        ordering.establish()
        waiters.resolve(with: makeResponse(head))
    }

    /// The end: everybody who waits learns of it, and the place in the session becomes free.
    private func announceEnd(_ error: CurlewError?, heldPlace: Bool) {
        end = error?.adding(request)
        endedAt = core.now
        letGo()
        // Before anybody hears of it who waits.
        watcher?.ended(self)
        for watcher in request.watchers { watcher.ended(self) }
        if let end {
            ordering.establish()
            waiters.fail(with: end)
        }
        if let madeExtras {
            madeExtras.interim.finish()
            madeExtras.progress?.finish(progress)
        }
        publish(.completed)
        host.ended(self, heldPlace: heldPlace)
        session = nil
        isRunning.store(false, ordering: .sequentiallyConsistent)
        if hasFace.load(ordering: .sequentiallyConsistent) { releaseFace() }
    }

    private func keepFace() { faceLock.withLock { keptFace = knownFace } }

    private func releaseFace() {
        // Not released under the lock: it may be the last reference but one to this exchange.
        let face = faceLock.withLock { () -> TaskActor? in
            defer { keptFace = nil }
            return keptFace
        }
        withExtendedLifetime(face) {}
    }

    // MARK: Limits of rate

    /// The exchange's own limit.
    var rateLimit: RateLimit {
        get { madeExtras?.rateLimit ?? .none }
        set {
            extras.rateLimit = newValue
            rateLimitsChanged()
        }
    }

    /// The exchange's own limit or that of the session is another now.
    func rateLimitsChanged() { if hasBegun { setRateLimit(rateLimit) } }

    // MARK: What can be seen of it

    /// The figures up to this moment.
    var metrics: TaskMetrics {
        guard lifecycle.hasStarted else { return TaskMetrics(attempts: attempts) }
        let now = endedAt ?? core.now
        return TaskMetrics(
            attempts: attempts, start: startedAt.date, duration: startedAt.duration(to: now),
            suspended: madeExtras?.suspended.total(at: now) ?? .zero)
    }

    /// The publisher that hands the progress to those who follow it.
    var progressPublisher: ProgressPublisher {
        if let made = madeExtras?.progress { return made }
        let made = ProgressPublisher(progress, timers: core, interval: host.progressInterval)
        if lifecycle.state.isEnd { made.finish(progress) }
        extras.progress = made
        return made
    }

    /// The interim responses that have come and those to come.
    func interimResponses() -> AsyncStream<HTTPResponse> {
        if lifecycle.hasHead || lifecycle.state.isEnd { extras.interim.finish() }
        return extras.interim.stream()
    }

    // MARK: Events

    /// Publishes to those who listen to the session; nothing is made for nobody.
    private func publish(_ kind: SessionEvent.Kind) {
        let pending = kind == .completed ? takePendingEvents() : []
        guard isObserved else { return }
        var event = SessionEvent(kind, of: self)
        if kind == .completed {
            event.error = end
            event.metrics = metrics
            event.response = head
        }
        host.broadcaster.publish(event)
        pending.forEach(host.broadcaster.publish)
    }

    private func takePendingEvents() -> [SessionEvent] {
        guard let madeExtras else { return [] }
        defer { madeExtras.pendingEvents = [] }
        return madeExtras.pendingEvents
    }

    /// Publishes what belongs behind the end of the exchange: at once if it has ended, which its loop knows. Who has read a body to
    /// its end may be quicker than the loop that is about to publish it.
    func publishAfterEnd(_ event: SessionEvent) {
        onLoop { exchange in
            if exchange.lifecycle.state.isEnd {
                exchange.host.broadcaster.publish(event)
            } else {
                exchange.extras.pendingEvents.append(event)
            }
        }
    }
}
