internal import CLibcurl
internal import COpenSSL
internal import HTTPTypes
internal import Synchronization

/// One exchange as it runs on the engine: it answers libcurl's callbacks and keeps the timers. What belongs to one try of
/// it is its ``Attempt``, which decides; this performs. ``Exchange`` adds what the session and the callers have to do with.
///
/// `@unchecked Sendable`: from the moment that it is handed to its loop it is touched there alone; what goes elsewhere are
/// references in commands that are performed on the loop again.
/// For the same reason the properties that every request touches go without dynamic checks of exclusive access, here and
/// in the other types of the loop; those checks were a twentieth of a small request.
class Transfer: LoopTimer, @unchecked Sendable {
    /// Requests of other threads to an exchange, and of the loop itself for later.
    enum Command {
        /// Begin, for the caller that waits for the response.
        case start
        /// Begin, or let the bytes flow again.
        case resume
        /// Stop the bytes.
        case suspend
        /// End it, as nobody wants it any more.
        case cancel
        /// The reader of the response has taken some of it.
        case readOn
        /// There may be an end to be seen, though the socket has nothing.
        case lookForEnd
    }

    final let prepared: PreparedRequest
    final let core: LoopCore
    /// The number of times that the user has asked for the bytes to stop of which the loop does not know yet. Until it knows, no
    /// more is taken: within one turn that may be many megabytes.
    final let stops = Atomic(0)
    /// The engine that carries it, from the moment that its turn has come until it has ended.
    @exclusivity(unchecked) final private(set) var multi: MultiHandle?

    // Where the transfer stands in its multi handle's lists.
    @exclusivity(unchecked) final var position = -1
    @exclusivity(unchecked) final var isChanged = false

    /// The place where it waits for a connection, and its own there. Set by the pool.
    @exclusivity(unchecked) final var waitsAt: OriginPool?
    @exclusivity(unchecked) final var waitingPlace = 0
    /// When the connection of the attempt before was opened.
    @exclusivity(unchecked) private var opened = Instant(nanoseconds: 0)
    /// True if the engine has ended the exchange by itself, and not with an error.
    @exclusivity(unchecked) private var isEngineDone = false

    @exclusivity(unchecked) final private(set) var easy: EasyHandle?
    // The parts. Each keeps its state to itself.
    @exclusivity(unchecked) final var attempt: Attempt
    @exclusivity(unchecked) final var figures = AttemptFigures()
    @exclusivity(unchecked) final var interimHeads = InterimHeads()
    @exclusivity(unchecked) final var assembly: BodyAssembly
    @exclusivity(unchecked) final var feed = UploadFeed()
    @exclusivity(unchecked) final var earlyAnswer = EarlyAnswerWatch()
    @exclusivity(unchecked) final var clock: TransferClock
    @exclusivity(unchecked) final var limiter: RateLimiter?

    /// How the exchange has ended: with its trailers, or an error.
    @exclusivity(unchecked) final private(set) var outcome: Result<HTTPFields, CurlewError>?
    /// True if somebody has the response.
    @exclusivity(unchecked) final private(set) var isClaimed = false

    init(_ prepared: PreparedRequest, core: LoopCore, heads: ResponseHeadCache) {
        self.prepared = prepared
        self.core = core
        clock = TransferClock(prepared.timeLimits)
        assembly = BodyAssembly(capacity: prepared.bodyBufferSize)
        attempt = Attempt(prepared, plan: Attempt.Plan(isFresh: prepared.isHandshakeOnly), cache: heads)
    }

    // MARK: To be overridden

    /// Something is new: interim responses, the head, the counts, or the end. Not from within libcurl.
    func advanced() {}

    /// Does what was asked for, on the loop.
    func perform(_ command: Command) {
        switch command {
        case .readOn: readerMadeRoom()
        case .lookForEnd: lookForEnd()
        case .start, .resume, .suspend, .cancel: break
        }
    }

    /// A moment to look at the clocks.
    override func fire() { lookAtClocks() }

    // MARK: What can be seen of it

    /// The head of the response, once it is the caller's.
    var head: HTTPResponse? { attempt.incoming.head }
    /// The version of the response, once there is a head.
    var version: HTTPProtocolVersion { attempt.incoming.version }
    /// The bytes that the response's body will have, if that is known.
    var expectedBodyBytes: Int64? { attempt.incoming.expectedBodyBytes(method: prepared.method) }
    var security: ConnectionSecurity? { attempt.security }
    /// Bytes of the bodies, as they went over the wire.
    var sentBodyBytes: Int64 { attempt.outgoing.sentBytes }
    var receivedBodyBytes: Int64 { attempt.incoming.bodyBytes }
    /// The connection that it uses, if it is known which.
    var connection: Connection? { attempt.connection }
    /// True if it neither has a connection nor begins to make one.
    var isWaiting: Bool { clock.isWaiting }
    /// True if it has been given to the engine.
    var hasBegun: Bool { multi != nil }
    /// The figures of the attempts that have ended, first to last.
    var attempts: [TaskMetrics.Attempt] { figures.all }
    /// The interim responses that are kept.
    var interim: [HTTPResponse] { interimHeads.kept }
    /// True if no kept connection will do.
    var needsNewConnection: Bool { attempt.plan.isFresh }
    /// True if the exchange shares no connection.
    var isLoner: Bool { prepared.isHandshakeOnly }
    /// True if the exchange may go over a connection that carries others, or has carried some.
    func mayJoin(_ connection: Connection) -> Bool {
        !needsNewConnection || (!isLoner && connection.isMultiplexed && connection.opened > opened)
    }
    /// True if the server has asked for HTTP/1.1.
    var needsHTTP11: Bool { attempt.plan.isHTTP11 }

    // MARK: Attempts

    /// Its turn has come. It begins when ``begin()`` is called, and fails at the deadline, wherever it is then.
    /// - Parameter queued: For how long it has waited for its turn.
    func prepare(on multi: MultiHandle, queued: Duration, until deadline: Instant) {
        self.multi = multi
        figures = AttemptFigures(queued: queued)
        clock.totalDeadline = deadline
        core.timers.set(self, to: deadline)
    }

    func isCarried(by multi: MultiHandle) -> Bool { self.multi === multi }

    /// Begins the exchange. What fails here is an end like any other.
    func begin() {
        guard outcome == nil else { return }
        beginAttempt()
    }

    /// Lets go of what only an exchange under way needs. It has ended.
    func letGo() {
        core.timers.remove(self)
        attempt.letGo()
        multi = nil
        if isClaimed { letGoOfBody() }
    }

    /// The reader has the body, or its channel, which lives no longer than the reader.
    private func letGoOfBody() { assembly = BodyAssembly(capacity: 1) }

    /// - Parameter hasWaited: True if its connection had no room for it, so that it waits on.
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

    /// The pool has a connection for the exchange.
    func start(on connection: Connection) {
        connectionBegins()
        figures.connectionIsThere(at: core.now)
        attempt.take(connection)
        guard let multi else { return settle(.failure(CurlewError(.engineFailed, "an exchange has no engine"))) }
        do { try multi.begin(self) } catch { settle(.failure(CurlewError(ofEngine: error))) }
    }

    /// The connection that was made for the exchange has failed.
    func connectionFailed(_ failure: DialFailure) { settle(.failure(failure.error(for: prepared))) }

    /// libcurl has not taken the exchange.
    func engineRefuses() { easy = nil }

    /// Sets up the handle for one attempt.
    func configure(_ easy: EasyHandle) throws {
        guard let connection = attempt.connection else {
            throw CurlewError(.engineFailed, "an exchange has no connection")
        }
        self.easy = easy
        do {
            try easy.prepare(prepared, attempt.plan, connection)
        } catch {
            self.easy = nil
            throw error
        }
    }

    /// The engine is done with the attempt.
    func engineFinished(_ result: CURLcode) {
        guard outcome == nil, let easy else { return }
        var failure = result == CURLE_OK ? nil : easy.failure(result)
        if failure != nil, attempt.connection?.hasGoAway == true { failure?.isAfterGoAway = evidence?.isOpen == true }
        if failure?.code == CURLE_HTTP2, let evidence, evidence.hasSentGoAway == true {
            evidence.connection.hasFailed = true
        }
        isEngineDone = failure == nil
        if let connection = attempt.connection {
            if attempt.rejection == .lostConnection { multi?.connections.leave(connection) }
        }
        if attempt.isToBeRepeated(after: failure) { return repeatAttempt() }
        if failure == nil {
            publishChallenge()
            if isCutShort { return settle(.failure(.cutShort)) }
        }
        settle(attempt.outcome(after: failure))
    }

    func repeatAttempt() {
        attempt.closeBody()
        leaveEngine()
        let hasWaited = attempt.rejection == .fullConnection
        if let connection = attempt.connection { opened = connection.opened }
        attempt = attempt.successor
        beginAttempt(hasWaited: hasWaited)
    }

    /// Ends the exchange from our side: by a timer, a cancellation, or the end of the session. Not from a callback.
    func fail(_ error: CurlewError) {
        guard outcome == nil else { return }
        // libcurl may be done with the exchange and have kept its connection, though its message was not read yet.
        multi?.collectFinished(of: self)
        guard outcome == nil else { return }
        settle(.failure(error))
    }

    /// Ends the exchange once: takes it from the engine and notes how it went.
    func settle(_ result: Result<HTTPFields, CurlewError>) {
        guard outcome == nil else { return }
        leaveEngine()
        if case .failure(let error) = result {
            noteSilence(error.code)
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
        // A repetition of libcurl's has been noted, and a connection that was full has cost nothing.
        if attempt.rejection != .fullConnection, attempt.rejection?.isRepetition != true {
            figures.append(TaskMetrics.Attempt(attempt, prepared, easy, takeWaits()))
        }
        if Engine.remembersErrors,
            attempt.stage == .connecting || (!attempt.isReused && easy.long(CURLINFO_OS_ERRNO) != 0)
        {
            easy.isSpent = true
        }
        // libcurl may be about to repeat the request, or may have been.
        if !attempt.incoming.hasBegun, attempt.stage != .connecting { easy.isSpent = true }
        let isKept = isEngineDone && !easy.carriesForbidReuse && attempt.incoming.keepsConnection
        self.easy = nil
        multi?.end(self, easy)
        if let connection = attempt.connection {
            attempt.endStream()
            let isUntouched = attempt.rejection == .fullConnection || attempt.hasLeftUntouched(connection)
            multi?.connections.release(connection, isKept: isKept || isUntouched)
        }
    }

    /// The exchange ends without a handle of the engine's.
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

    /// What an error should say of the exchange.
    private var context: CurlewError.Context {
        CurlewError.Context(
            method: prepared.method, uri: prepared.uri, stage: attempt.stage, response: head,
            bodyPrefix: assembly.prefix)
    }

    /// Called by the multi handle at the end of a turn in which the engine has done a step.
    func turnEnds() {
        // The body first, so that a reader woken by the head finds all of it.
        if let outcome { endBody(outcome) } else { wakeIfNeeded(assembly.endTurn(keepsPrefix: keepsPrefix)) }
        advanced()
    }

    /// Ends the channel to the body's reader. A body that has arrived as a whole, or that nobody can have, needs none.
    private func endBody(_ outcome: Result<HTTPFields, CurlewError>) {
        if assembly.channel == nil {
            if case .success = outcome { return }
            guard head != nil else { return }
        }
        _ = assembly.endTurn(keepsPrefix: keepsPrefix)
        assembly.openChannel().finish(outcome)
    }

    /// The source that the reader of the response reads from.
    enum Body {
        case whole(WholeBody)
        case arriving(BodyChannel)
    }

    /// The body for the reader of the response. It is taken once.
    func takeBody() -> Body {
        isClaimed = true
        if hasBegun { rearm() }
        defer { if !hasBegun { letGoOfBody() } }
        if case .success(let trailers) = outcome, let bytes = assembly.takeWhole() {
            return .whole(WholeBody(bytes, trailers: trailers))
        }
        return .arriving(assembly.openChannel())
    }

    /// Notes that the connection has brought nothing while the exchange waited: it may have died without a word, which HTTP/2
    /// has no other sign of, and shall not take the requests along that follow.
    private func noteSilence(_ code: ErrorCode) {
        guard let connection = attempt.connection, connection.isMultiplexed, attempt.pauses.isEmpty,
            attempt.stage == .exchanging || attempt.stage == .receiving
        else { return }
        let waited = clock.lastActivity.duration(to: core.now)
        switch code {
        case .headTimeout, .idleTimeout, .totalTimeout: break
        // Callers have time limits of their own, and also cancel for other reasons.
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
            "the HTTP/2 connection broke, and whether the body, which has no length, was whole is not known")
    }

    /// The error that something of the engine's has thrown.
    init(ofEngine error: any Error) {
        self = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
    }
}
