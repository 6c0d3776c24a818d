internal import HTTPTypes
internal import Synchronization

/// An exchange: a session creates it, its event loop runs it, and it ends exactly once. ``TaskActor`` is its public
/// face, created on demand.
///
/// `@unchecked Sendable`: once started it belongs to its loop. Its properties for other threads are immutable, atomic
/// or under a lock.
final class Exchange: Transfer, ResponseExchange, @unchecked Sendable {
    /// The number of the exchange, unique in the process.
    let number: UInt64
    /// The original request.
    let request: CurlewRequest
    let host: ExchangeHost
    /// A further observer of the end, beside those of the request.
    private let watcher: (any ExchangeWatcher)?
    /// The session, retained until the end, so that it lives as long as its exchanges run.
    @exclusivity(unchecked) private var session: (any AnyObject & Sendable)?
    private let ordering = Ordering()
    private let hasBecomeDownload = Atomic(false)

    /// The index among the host's exchanges that have not ended.
    @exclusivity(unchecked) var place = -1
    /// The place in the session's queue; -1 unless it waits there.
    @exclusivity(unchecked) var queuePlace = -1
    @exclusivity(unchecked) private(set) var lifecycle = TaskLifecycle()
    /// The caller that has started the exchange and waits for the response. It is written before the exchange is passed
    /// to the loop.
    @exclusivity(unchecked) private var starter: ResponseWaiters.Waiter?
    @exclusivity(unchecked) private var waiters = ResponseWaiters()
    @exclusivity(unchecked) private var startedAt = Instant(nanoseconds: 0)
    @exclusivity(unchecked) private var endedAt: Instant?
    /// The error that ended the exchange.
    @exclusivity(unchecked) private(set) var end: CurlewError?
    @exclusivity(unchecked) private var madeExtras: Extras?

    // The public face, guarded by the lock.
    private let faceLock = Lock()
    private weak var knownFace: TaskActor?
    private var keptFace: TaskActor?
    private let hasFace = Atomic(false)
    private let isRunning = Atomic(false)

    /// - Parameter session: The object that is retained until the exchange has ended.
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

    /// The properties that only few exchanges need.
    private final class Extras {
        var suspended = SuspendedTime()
        var rateLimit: RateLimit?
        var interim = InterimResponses()
        var progress: ProgressPublisher?
        /// The events that are published after the end.
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

    /// The public face: at most one at a time. It lives as long as the exchange runs or a caller retains it. Callable
    /// from any thread.
    var face: TaskActor {
        // This flag is set before `isRunning` is read; the loop does both in the opposite order. So at least one side
        // sees the other.
        hasFace.store(true, ordering: .sequentiallyConsistent)
        return faceLock.withLock {
            if let knownFace { return knownFace }
            let made = TaskActor(of: self)
            knownFace = made
            if isRunning.load(ordering: .sequentiallyConsistent) { keptFace = made }
            return made
        }
    }

    // MARK: Commands from any thread

    /// Starts the exchange, or resumes its transfer.
    func resume() { core.send(.resume, to: self) }

    /// Pauses the transfer in both directions.
    func suspend() {
        stops.wrappingAdd(1, ordering: .relaxed)
        core.send(.suspend, to: self)
    }

    /// Cancels the exchange with ``ErrorCode/cancelled``, unless it has ended.
    func cancel() { core.send(.cancel, to: self) }

    /// Continues reading after the reader of the body has made room.
    func readOn() { core.send(.readOn, to: self) }

    func onLoop(_ action: @escaping @Sendable (Exchange) -> Void) { core.execute { action(self) } }

    // `run`, `awaitResponse` and `headArrival` are inlined: each would add a frame to every call.

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
        // Most requests have no decision to wait for.
        guard request.options.onResponse != nil else { return response }
        return try await response.decided()
    }

    @inline(__always)
    private func headArrival(_ claim: (ResponseWaiters.Waiter) -> Void) async throws -> CurlewResponse {
        defer { ordering.establish() }
        return try await withTaskCancellationHandler {
            // The continuation is created on the caller's executor and resumed on the loop: two thread hops in total.
            try await withUnsafeThrowingContinuation { claim($0) }
        } onCancel: {
            cancel()
        }
    }

    // MARK: Commands on the loop

    override func perform(_ command: Command) {
        switch command {
        case .start:
            if let starter { claim(for: starter) }
            starter = nil
            // The group is read once: later changes resume or suspend the exchange itself.
            handle(request.options.suspensionGroup?.isHeld == true ? .startSuspended : .resume)
        case .resume: handle(.resume)
        case .suspend:
            handle(.suspend)
            stops.wrappingSubtract(1, ordering: .relaxed)
            // If the suspension changed nothing, the bytes that were held back for it flow again.
            readerMadeRoom()
        case .cancel: abort(CurlewError(.cancelled, "the task was cancelled"))
        case .readOn, .lookForEnd: super.perform(command)
        }
    }

    private func claim(for waiter: ResponseWaiters.Waiter) {
        defer { ordering.establish() }
        switch lifecycle.claim() {
        case .deliver:
            // The lifecycle returns `deliver` only after the head has arrived.
            guard let head else { return waiters.append(waiter) }
            let response = makeResponse(head, interim: receivedInterim)
            ordering.establish()
            waiter.resume(returning: response)
        case .wait: waiters.append(waiter)
        case .fail: waiter.resume(throwing: end ?? CurlewError(.cancelled, "the task has ended"))
        case .refuse:
            waiter.resume(
                throwing: CurlewError(.responseAlreadyTaken, "the response was given to another caller"))
        }
    }

    /// - Parameter error: The error of the exchange, if the event ends it.
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
            // The session may have retired its connections during the suspension.
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

    /// The time at which the exchange times out, in any state.
    var totalDeadline: Instant { startedAt.advanced(by: prepared.timeLimits.total) }

    /// Begins the exchange, whose turn has come.
    func takeTurn() { handle(.turn) }

    /// Ends the exchange, in any state.
    func abort(_ error: CurlewError) { handle(.abort(Self.endState(error)), error) }

    private static func endState(_ error: CurlewError?) -> TaskActor.State {
        guard let error else { return .completed }
        return error.code == .cancelled ? .cancelled : .failed
    }

    // MARK: Engine events

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
        waiters.resolve(with: makeResponse(head, interim: receivedInterim))
    }

    /// Announces the end: it resumes all waiters, and frees the slot in the session.
    private func announceEnd(_ error: CurlewError?, heldPlace: Bool) {
        end = error?.adding(request)
        endedAt = core.now
        letGo()
        // Observers are called before any waiter is resumed.
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
        // The face is released outside of the lock, because its release may release the exchange too.
        let face = faceLock.withLock { () -> TaskActor? in
            defer { keptFace = nil }
            return keptFace
        }
        withExtendedLifetime(face) {}
    }

    // MARK: Rate limits

    /// The rate limit of the exchange itself.
    var rateLimit: RateLimit {
        get { madeExtras?.rateLimit ?? .none }
        set {
            extras.rateLimit = newValue
            rateLimitsChanged()
        }
    }

    /// Applies a changed rate limit of the exchange or of the session.
    func rateLimitsChanged() { if hasBegun { setRateLimit(rateLimit) } }

    // MARK: Inspection

    /// The metrics so far.
    var metrics: TaskMetrics {
        guard lifecycle.hasStarted else { return TaskMetrics(attempts: attempts) }
        let now = endedAt ?? core.now
        return TaskMetrics(
            attempts: attempts, start: startedAt.date, duration: startedAt.duration(to: now),
            suspended: madeExtras?.suspended.total(at: now) ?? .zero)
    }

    /// The publisher that sends the progress to its subscribers.
    var progressPublisher: ProgressPublisher {
        if let made = madeExtras?.progress { return made }
        let made = ProgressPublisher(progress, timers: core, interval: host.progressInterval)
        if lifecycle.state.isEnd { made.finish(progress) }
        extras.progress = made
        return made
    }

    private var receivedInterim: [HTTPResponse] { madeExtras?.interim.all ?? [] }

    /// The interim responses so far, and later ones.
    func interimResponses() -> AsyncStream<HTTPResponse> {
        if lifecycle.hasHead || lifecycle.state.isEnd { extras.interim.finish() }
        return extras.interim.stream()
    }

    // MARK: Events

    /// Publishes an event of the session. Without listeners no event is created.
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

    /// Publishes an event after the end of the exchange: at once if it has ended, otherwise with the end.
    ///
    /// The loop decides, as a caller that has read a body to its end may be faster than the loop.
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
