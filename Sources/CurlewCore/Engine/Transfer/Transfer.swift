internal import CLibcurl
internal import COpenSSL
internal import HTTPTypes
internal import Synchronization

/// A running exchange: it answers libcurl's callbacks and keeps the timers. The state of a single attempt is in its
/// ``Attempt``, which decides; `Transfer` performs. ``Exchange`` adds the interfaces for the session and the callers.
///
/// `@unchecked Sendable`: after submission to its loop, a transfer is accessed there only. Other threads hold
/// references in commands that the loop performs. For the same reason the properties that every request uses have no
/// dynamic checks of exclusive access, here and in other types of the loop. These checks were a twentieth of a small
/// request's cost.
class Transfer: LoopTimer, @unchecked Sendable {
    /// Commands of other threads to an exchange, and of the loop itself for later.
    enum Command {
        /// Begin the exchange, for a caller that waits for the response.
        case start
        /// Begin the exchange, or resume its bytes.
        case resume
        /// Pause the bytes.
        case suspend
        /// Cancel the exchange.
        case cancel
        /// Resume reading, because the reader has taken bytes of the response.
        case readOn
        /// Look for an end of the stream, although the socket is not ready.
        case lookForEnd
    }

    final let prepared: PreparedRequest
    final let core: LoopCore
    /// The number of the user's requests to pause that the loop has not yet processed. Until it has, no more bytes are
    /// accepted: within one turn that may be many megabytes.
    final let stops = Atomic(0)
    /// The engine of the exchange, from the end of its wait in the queue until it has ended.
    @exclusivity(unchecked) final private(set) var multi: MultiHandle?

    // Positions in the lists of the multi handle.
    @exclusivity(unchecked) final var position = -1
    @exclusivity(unchecked) final var isChanged = false

    /// The origin where the exchange waits for a connection, and its position there. Set by the pool.
    @exclusivity(unchecked) final var waitsAt: OriginPool?
    @exclusivity(unchecked) final var waitingPlace = 0
    /// The time at which the connection of the previous attempt was opened.
    @exclusivity(unchecked) private var opened = Instant(nanoseconds: 0)
    /// True if libcurl has ended the exchange by itself, without an error.
    @exclusivity(unchecked) private var isEngineDone = false

    @exclusivity(unchecked) final private(set) var easy: EasyHandle?
    // Components, each with private state.
    @exclusivity(unchecked) final var attempt: Attempt
    @exclusivity(unchecked) final var figures = AttemptFigures()
    @exclusivity(unchecked) final var interimHeads = InterimHeads()
    @exclusivity(unchecked) final var assembly: BodyAssembly
    @exclusivity(unchecked) final var feed = UploadFeed()
    @exclusivity(unchecked) final var earlyAnswer = EarlyAnswerWatch()
    @exclusivity(unchecked) final var clock: TransferClock
    @exclusivity(unchecked) final var limiter: RateLimiter?
    /// The exchange of a request that asks for an upgrade, once its connection is open.
    @exclusivity(unchecked) final var upgrade: UpgradeExchange?
    /// The value of ``RequestOptions/upgradeNonce`` for the last connection. It is kept when the exchange has ended.
    @exclusivity(unchecked) final var upgradeNonce: String?
    /// True if the exchange has become a connection of another protocol, which the loop does not count.
    @exclusivity(unchecked) final var isLongLived = false
    /// True if the session accepts no more tasks.
    @exclusivity(unchecked) final var isSessionEnding = false

    /// The result of the exchange: its trailers, or an error.
    @exclusivity(unchecked) final private(set) var outcome: Result<HTTPFields, CurlewError>?
    /// True if the response has a reader.
    @exclusivity(unchecked) final private(set) var isClaimed = false

    init(_ prepared: PreparedRequest, core: LoopCore, heads: ResponseHeadCache) {
        self.prepared = prepared
        self.core = core
        clock = TransferClock(prepared.timeLimits)
        assembly = BodyAssembly(capacity: prepared.bodyBufferSize)
        attempt = Attempt(prepared, plan: Attempt.Plan(isFresh: prepared.needsOwnConnection), cache: heads)
    }

    // MARK: Overridable functions

    /// Called after news: interim responses, the head, the counts, or the end. Not called from within libcurl.
    func advanced() {}

    /// Performs a command, on the loop.
    func perform(_ command: Command) {
        switch command {
        case .readOn: readerMadeRoom()
        case .lookForEnd: lookForEnd()
        case .start, .resume, .suspend, .cancel: break
        }
    }

    /// Checks the limits when the timer fires.
    override func fire() { lookAtClocks() }

    // MARK: Inspection

    /// The head of the response; nil before it is published.
    var head: HTTPResponse? { attempt.incoming.head }
    /// The version of the response, valid once there is a head.
    var version: HTTPProtocolVersion { attempt.incoming.version }
    /// The expected number of bytes of the response's body; nil if it is unknown.
    var expectedBodyBytes: Int64? { attempt.incoming.expectedBodyBytes(method: prepared.method) }
    var security: ConnectionSecurity? { attempt.security }
    /// The bytes of the bodies, as on the wire.
    var sentBodyBytes: Int64 { attempt.outgoing.sentBytes }
    var receivedBodyBytes: Int64 { attempt.incoming.bodyBytes }
    /// The connection of the exchange, if it is known.
    var connection: Connection? { attempt.connection }
    /// True if the exchange has no connection and has not begun to make one.
    var isWaiting: Bool { clock.isWaiting }
    /// True if the exchange was given to the engine.
    var hasBegun: Bool { multi != nil }
    /// The metrics of the ended attempts, in order.
    var attempts: [TaskMetrics.Attempt] { figures.all }
    /// The kept interim responses.
    var interim: [HTTPResponse] { interimHeads.kept }
    /// True if the exchange cannot use a kept connection.
    var needsNewConnection: Bool { attempt.plan.isFresh }
    /// True if the exchange cannot share a connection.
    var isLoner: Bool { prepared.needsOwnConnection }
    /// True if the exchange may use a connection that carries other exchanges, or has carried some.
    func mayJoin(_ connection: Connection) -> Bool {
        !needsNewConnection || (!isLoner && connection.isMultiplexed && connection.opened > opened)
    }
    /// True if the server has required HTTP/1.1.
    var needsHTTP11: Bool { attempt.plan.isHTTP11 }

    // MARK: Attempts

    /// Prepares the exchange after its wait in the queue. It begins with ``begin()``, and fails at the deadline, in
    /// whatever state it is.
    /// - Parameter queued: The time of the exchange in the queue.
    func prepare(on multi: MultiHandle, queued: Duration, until deadline: Instant) {
        self.multi = multi
        figures = AttemptFigures(queued: queued)
        clock.totalDeadline = deadline
        core.timers.set(self, to: deadline)
    }

    func isCarried(by multi: MultiHandle) -> Bool { self.multi === multi }

    /// Begins the exchange. A failure here ends it like any other failure.
    func begin() {
        guard outcome == nil else { return }
        beginAttempt()
    }

    /// Releases the objects that only a running exchange needs. The exchange has ended.
    func letGo() {
        core.timers.remove(self)
        attempt.letGo()
        multi = nil
        if isClaimed { letGoOfBody() }
    }

    /// Releases the body: the reader has it, or has its channel, which lives no longer than the reader.
    private func letGoOfBody() { assembly = BodyAssembly(capacity: 1) }

    /// - Parameter hasWaited: True if its connection had no room for it, so that it continues to wait.
    private func beginAttempt(hasWaited: Bool = false) {
        attempt.begin()
        isEngineDone = false
        figures.beginWaiting()
        if hasWaited { clock.resumeWaiting(at: core.now) } else { clock.beginWaiting(at: core.now) }
        core.timers.set(self, to: nearestDeadline)
        guard let multi, !multi.isClosed else {
            return settle(.failure(CurlewError(.sessionInvalidated, "the session has ended")))
        }
        multi.connections.submit(self, hasWaited: hasWaited)
    }

    /// Starts the exchange on the connection that the pool has chosen.
    func start(on connection: Connection) {
        connectionBegins()
        figures.connectionIsThere(at: core.now)
        attempt.take(connection)
        guard let multi else { return settle(.failure(CurlewError(.engineFailed, "an exchange has no engine"))) }
        do { try multi.begin(self) } catch { settle(.failure(CurlewError(ofEngine: error))) }
    }

    /// Fails the exchange, because the connection that was made for it has failed; or continues it over TCP.
    func connectionFailed(_ failure: DialFailure) {
        if case .connect = failure, let origin = waitsAt, origin.key.use == .quic, attempt.mayUseTCP {
            multi?.connections.noteFailure(ofQUIC: origin, nil)
            if waitsAt === origin { quicFailed(nil) }
            return
        }
        settle(.failure(failure.error(for: prepared)))
    }

    /// Records that libcurl has rejected the exchange.
    func engineRefuses() { easy = nil }

    /// Configures the handle for an attempt.
    func configure(_ easy: EasyHandle) throws {
        guard let connection = attempt.connection else {
            throw CurlewError(.engineFailed, "an exchange has no connection")
        }
        self.easy = easy
        do {
            let limit = connection.isQUIC ? handshakeLimit : .max
            try easy.prepare(prepared, attempt.plan, connection, handshakeLimit: limit)
        } catch {
            self.easy = nil
            throw error
        }
    }

    /// Processes the end of an attempt in libcurl.
    func engineFinished(_ result: CURLcode) {
        guard outcome == nil, let easy else { return }
        var failure = result == CURLE_OK ? nil : easy.failure(result)
        if failure != nil, attempt.connection?.hasGoAway == true { failure?.isAfterGoAway = evidence?.isOpen == true }
        if failure?.code == CURLE_HTTP2, let evidence, evidence.hasSentGoAway == true {
            evidence.connection.hasFailed = true
        }
        if failure == nil, attempt.isOnCourse, let request = prepared.upgrade { return beginUpgrade(request, easy) }
        isEngineDone = failure == nil
        if let connection = attempt.connection {
            if attempt.rejection == .lostConnection { multi?.connections.leave(connection) }
        }
        if attempt.isToBeRepeated(after: failure) {
            let problem = quicProblem(failure)
            repeatAttempt()
            return noteProblem(problem)
        }
        if failure == nil {
            publishChallenge()
            if isCutShort { return settle(.failure(.cutShort)) }
        }
        let problem = quicProblem(failure)
        settle(attempt.outcome(after: failure))
        noteProblem(problem)
    }

    func repeatAttempt() {
        attempt.closeBody()
        leaveEngine()
        let hasWaited = attempt.rejection == .fullConnection
        if let connection = attempt.connection { opened = connection.opened }
        attempt = attempt.successor
        beginAttempt(hasWaited: hasWaited)
    }

    /// Ends the exchange by a timer, a cancellation, or the end of the session. Not called from a callback.
    func fail(_ error: CurlewError) {
        guard outcome == nil else { return }
        // libcurl may have finished the exchange and kept its connection, although its message was not yet read.
        multi?.collectFinished(of: self)
        guard outcome == nil else { return }
        settle(.failure(error))
    }

    /// Ends the exchange once: removes it from libcurl and records its outcome.
    func settle(_ result: Result<HTTPFields, CurlewError>) {
        guard outcome == nil else { return }
        if let upgrade, upgrade.isUpgraded, case .failure(let error) = result { upgrade.user?.connectionEnds(error) }
        guard outcome == nil else { return }
        leaveEngine()
        if case .failure(let error) = result {
            noteSilence(error.code)
            if let connection = attempt.connection { noteSilentHandshake(error.code, of: connection) }
            multi?.noteDropped(on: attempt.connection)
        }
        core.timers.remove(self)
        limiter?.release()
        limiter = nil
        attempt.closeBody()
        feed.end()
        outcome = result.mapError { $0.adding(context) }
        multi?.markChanged(self)
    }

    private func leaveEngine() {
        guard let easy else { return leavePool() }
        // A repetition by libcurl has already been recorded, and a full connection has cost no attempt.
        if attempt.rejection != .fullConnection, attempt.rejection?.isRepetition != true {
            var metrics = TaskMetrics.Attempt(attempt, prepared, easy, takeWaits())
            if let upgrade { metrics.add(upgrade.figures, until: core.now) }
            figures.append(metrics)
        }
        if Engine.remembersErrors,
            attempt.stage == .connecting || (!attempt.isReused && easy.long(CURLINFO_OS_ERRNO) != 0)
        {
            easy.isSpent = true
        }
        // libcurl may have been about to repeat the request, so the handle is not used again.
        if !attempt.incoming.hasBegun, attempt.stage != .connecting { easy.isSpent = true }
        let isKept = isEngineDone && !easy.carriesForbidReuse && attempt.incoming.keepsConnection
        self.easy = nil
        upgrade?.end()
        upgrade = nil
        multi?.end(self, easy)
        if let connection = attempt.connection {
            attempt.endStream()
            let isUntouched = attempt.rejection == .fullConnection || attempt.hasLeftUntouched(connection)
            multi?.connections.release(connection, isKept: isKept || isUntouched)
        }
    }

    /// Ends an exchange that has no libcurl handle.
    private func leavePool() {
        guard attempt.stage == .connecting else { return }
        figures.append(TaskMetrics.Attempt(ofUnconnected: takeWaits()))
        if waitsAt != nil {
            multi?.connections.withdraw(self)
        } else if let connection = attempt.connection {
            multi?.connections.release(connection, isKept: true)
        }
        multi?.noteUse()
    }

    func takeWaits() -> TaskMetrics.Attempt.Waits {
        figures.waits(clock.takeWaited(at: core.now))
    }

    /// The context of the exchange for its errors.
    private var context: CurlewError.Context {
        CurlewError.Context(
            method: prepared.method, uri: prepared.uri, stage: attempt.stage, response: head,
            bodyPrefix: assembly.prefix)
    }

    /// Called by the multi handle at the end of a turn in which the exchange has changed.
    func turnEnds() {
        // The body is passed on first, so that a reader woken by the head finds all of it.
        if let outcome { endBody(outcome) } else { wakeIfNeeded(assembly.endTurn(keepsPrefix: keepsPrefix)) }
        if outcome == nil, attempt.awaitsPermission { lookForAnswerWithoutPermission() }
        advanced()
    }

    /// Ends the channel to the body's reader. A complete body needs no channel, and neither does a body without a head.
    private func endBody(_ outcome: Result<HTTPFields, CurlewError>) {
        if assembly.channel == nil {
            if case .success = outcome { return }
            guard head != nil else { return }
        }
        _ = assembly.endTurn(keepsPrefix: keepsPrefix)
        assembly.openChannel().finish(outcome)
    }

    /// The source of the body for the reader of the response.
    enum Body {
        case whole(WholeBody)
        case arriving(BodyChannel)
    }

    /// Returns the body for the reader of the response. Called once.
    func takeBody() -> Body {
        isClaimed = true
        if hasBegun { rearm() }
        defer { if !hasBegun { letGoOfBody() } }
        if case .success(let trailers) = outcome, let bytes = assembly.takeWhole() {
            return .whole(WholeBody(bytes, trailers: trailers))
        }
        return .arriving(assembly.openChannel())
    }

    /// Records that the connection had no input during the wait of the exchange. The connection may be dead; HTTP/2 has
    /// no other sign of that, and later requests must not use it.
    private func noteSilence(_ code: ErrorCode) {
        guard let connection = attempt.connection, connection.isMultiplexed, attempt.pauses.isEmpty,
            attempt.stage == .exchanging || attempt.stage == .receiving
        else { return }
        let waited = clock.lastActivity.duration(to: core.now)
        switch code {
        case .headTimeout, .idleTimeout, .totalTimeout: break
        // Callers have their own time limits, and also cancel for other reasons.
        case .cancelled where waited >= .seconds(1): break
        default: return
        }
        if connection.lastInput.duration(to: core.now) * 2 >= waited { connection.isSilent = true }
    }
}

extension CurlewError {
    fileprivate static var cutShort: CurlewError {
        CurlewError(
            .responseTruncated,
            "the HTTP/2 connection broke, and the body has no length, so its end is unknown")
    }

    /// Wraps an error that the engine has thrown.
    init(ofEngine error: any Error) {
        self = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
    }
}
