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

    /// The most interim responses of an exchange; how many of them are kept, the configuration says.
    private static let interimLimit = 100

    final let prepared: PreparedRequest
    final let core: LoopCore
    /// The number of times that the user has asked for the bytes to stop of which the loop does not know yet. Until it knows, no
    /// more is taken: within one turn that may be many megabytes.
    final let stops = Atomic(0)
    /// The engine that carries it, from the moment that its turn has come until it has ended.
    @exclusivity(unchecked) private var multi: MultiHandle?

    // Where the transfer stands in its multi handle's lists.
    @exclusivity(unchecked) final var position = -1
    @exclusivity(unchecked) final var isChanged = false

    /// The place where it waits for a connection, and its own there. Set by the pool.
    @exclusivity(unchecked) final var waitsAt: OriginPool?
    @exclusivity(unchecked) final var waitingPlace = 0
    /// When the connection of the attempt before was opened.
    @exclusivity(unchecked) private var opened = Instant(nanoseconds: 0)
    /// When its connection began to be made.
    @exclusivity(unchecked) private var connectingSince: Instant?
    @exclusivity(unchecked) private var connecting = Duration.zero
    /// True if the engine has ended the exchange by itself, and not with an error.
    @exclusivity(unchecked) private var isEngineDone = false
    /// True if it is a stream of its connection.
    @exclusivity(unchecked) private var hasStream = false

    @exclusivity(unchecked) final private(set) var easy: EasyHandle?
    @exclusivity(unchecked) private var attempt: Attempt
    @exclusivity(unchecked) private var assembly: BodyAssembly
    @exclusivity(unchecked) private var limiter: RateLimiter?
    @exclusivity(unchecked) private var feed = UploadFeed()
    @exclusivity(unchecked) private var queued = Duration.zero
    @exclusivity(unchecked) private var clock: TransferClock

    /// The figures of the attempts that have ended: of the last, and of those before.
    @exclusivity(unchecked) private var lastFigures: AttemptMetrics?
    @exclusivity(unchecked) private var earlierFigures: [AttemptMetrics] = []
    @exclusivity(unchecked) final private(set) var interim: [HTTPResponse] = []
    @exclusivity(unchecked) private var interimCount = 0
    @exclusivity(unchecked) private var earlyAnswer = EarlyAnswerWatch()
    /// True if the last look at the clocks found a limit exceeded. It counts if it still is, a turn of the loop later.
    @exclusivity(unchecked) private var hasSeenExpiry = false
    /// How the exchange has ended: with its trailers, or an error.
    @exclusivity(unchecked) final private(set) var outcome: Result<HTTPFields, CurlewError>?
    /// True if somebody has the response.
    @exclusivity(unchecked) private var isClaimed = false

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
    var attempts: [AttemptMetrics] { earlierFigures + [lastFigures].compactMap(\.self) }
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
        self.queued = queued
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
        connectingSince = nil
        connecting = .zero
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
        if let connectingSince { connecting = connectingSince.duration(to: core.now) }
        attempt.take(connection)
        guard let multi else { return settle(.failure(CurlewError(.engineFailed, "an exchange has no engine"))) }
        do { try multi.begin(self) } catch { settle(.failure(CurlewError(ofEngine: error))) }
    }

    /// The connection that was made for the exchange has failed.
    func connectionFailed(_ failure: DialFailure) { settle(.failure(failure.error(for: prepared))) }

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
            if isCutShort { return fail(.cutShort) }
        }
        settle(attempt.outcome(after: failure))
    }

    private func repeatAttempt() {
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
        settle(.failure(error))
    }

    /// Ends the exchange once: takes it from the engine and notes how it went.
    private func settle(_ result: Result<HTTPFields, CurlewError>) {
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
            keep(AttemptMetrics(attempt, prepared, easy, takeWaits()))
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
            endStream()
            multi?.connections.release(connection, isKept: isKept || attempt.rejection == .fullConnection)
        }
    }

    /// The exchange ends without a handle of the engine's.
    private func leavePool() {
        guard attempt.stage == .connecting else { return }
        keep(AttemptMetrics(ofUnconnected: takeWaits()))
        if waitsAt != nil {
            multi?.connections.withdraw(self)
        } else if let connection = attempt.connection {
            multi?.connections.release(connection, isKept: true)
        }
        multi?.noteUse()
    }

    private func takeWaits() -> AttemptMetrics.Waits {
        AttemptMetrics.Waits(queued: queued, waited: clock.takeWaited(at: core.now), connecting: connecting)
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

    // MARK: Connecting

    /// The exchange waits no more: it has a connection, or one is being made for it.
    func connectionBegins() { clock.endWaiting(at: core.now) }

    /// A connection is being made for the exchange.
    func connectionIsMade() {
        connectionBegins()
        connectingSince = core.now
        if prepared.uri.layout.isSecure { prepared.options.trust.prepareForHandshake() }
    }

    /// The connection that was being made for the exchange has failed or serves another, and none is being made for it.
    func waitsAgain() {
        connectingSince = nil
        clock.resumeWaiting(at: core.now)
        rearm()
    }

    /// libcurl has not taken the exchange.
    func engineRefuses() { easy = nil }

    /// libcurl wants to open a socket.
    func opening() -> Attempt.Opening {
        refuseRepetition()
        let opening = attempt.opening()
        if attempt.rejection == .fullConnection { attempt.connection?.becomesFull() }
        return opening
    }

    /// libcurl goes on over another connection to the same end.
    func moves(to connection: Connection) {
        endStream()
        attempt.take(connection)
    }

    private func endStream() {
        guard hasStream else { return }
        hasStream = false
        attempt.connection?.endStream()
    }

    /// Refuses that libcurl sends the request a second time by itself. Whether another attempt follows is the attempt's to decide.
    private func refuseRepetition() {
        guard attempt.isRepeatedByEngine, let easy else { return }
        let duration = clock.lastActivity.duration(to: core.now)
        noteRepetition(total: duration)
        attempt.reject(reasonForRepetition(by: easy))
    }

    private func noteRepetition(total: Duration) {
        let waits = AttemptMetrics.Waits(queued: queued, waited: clock.takeWaited(at: core.now))
        keep(AttemptMetrics(ofRepeated: attempt, waits, total: total))
    }

    private func keep(_ figures: AttemptMetrics) {
        if let lastFigures { earlierFigures.append(lastFigures) }
        lastFigures = figures
    }

    /// The evidence of the attempt's connection and its bytes.
    private var evidence: ConnectionEvidence? {
        attempt.connection.map {
            ConnectionEvidence(connection: $0, handshake: attempt.handshake, tlsVersion: attempt.security?.tlsVersion)
        }
    }

    /// The reason for which libcurl wants to send the request a second time, as far as it can be told: a kept connection ended
    /// before a byte of a response, or the server refused the stream. libcurl has no words for either, but for other failures.
    private func reasonForRepetition(by easy: EasyHandle) -> AttemptRejection {
        if easy.errorText.contains("HTTP_1_1_REQUIRED") { return .http11Required }
        if easy.long(CURLINFO_REQUEST_SIZE) == 0, attempt.outgoing.sentBytes == 0 { return .unsent }
        let isOnNewConnection = !attempt.isReused
        // libcurl then overwrites the words that name the code.
        if attempt.speaksHTTP2, isOnNewConnection, !easy.errorText.isEmpty { return .http11Required }
        guard attempt.speaksHTTP2, easy.errorText.isEmpty, let evidence else { return .resend }
        // A new connection that dies is not followed by another by libcurl.
        if isOnNewConnection { return .refusedStream }
        return evidence.isOpen && !evidence.mayHideError(ofSharing: self) ? .refusedStream : .resend
    }

    /// True if the end of a body that has no length is not that of its stream, but an error of the HTTP/2 connection, which libcurl
    /// before 8.2 takes for it. libcurl has closed the connection then, after a GOAWAY of its own, or has ended another transfer
    /// with the error. Of several transfers the first to be told may be one that it takes for whole: that stays unknown.
    private var isCutShort: Bool {
        guard attempt.speaksHTTP2, Engine.hidesConnectionErrors, let evidence,
            attempt.incoming.isEndHidden(method: prepared.method)
        else { return false }
        // Bytes of an upload may have left since.
        return evidence.connection.hasFailed || (!prepared.hasBody && evidence.wasClosedWithGoAway)
    }

    /// The last moment before the request's first byte: libcurl has a connection and asks for leave.
    func connectionReady(localPort: Int32) -> Bool {
        clock.endAwaitingHead()
        refuseRepetition()
        let leave = attempt.connectionIsReady()
        if leave.isRepetition { noteRepetition(total: clock.lastActivity.duration(to: core.now)) }
        guard leave.isGranted, let easy, let connection = attempt.connection else { return false }
        let candidate = ConnectionCandidate(connection, localPort: localPort, for: prepared, easy)
        guard attempt.mayUse(candidate) else { return false }
        multi?.connections.learn(connection, isHTTP2: candidate.speaksHTTP2)
        if candidate.speaksHTTP2, !hasStream {
            hasStream = true
            multi?.connections.noteStream(on: connection)
        }
        connection.noteUse()
        if candidate.speaksHTTP2 {
            connection.watchesOutput = Engine.hidesConnectionErrors
            if attempt.isReused { watchForHeldBack() }
        } else if connection.isWorn {
            try? easy.forbidReuse(true)
        }
        attempt.watchForUnaskedAnswer(attempt.isOpenToUnaskedAnswers && connection.unconfirmedBytes == 0)
        noteActivity()
        if !prepared.hasBody || attempt.outgoing.isSent {
            clock.awaitHead(since: core.now)
            listenForGoAway()
        }
        rearm()
        return true
    }

    // MARK: Connections that permit no stream

    private func watchForHeldBack() {
        guard let connection = attempt.connection, connection.users == 1, let written = connection.writtenBytes else {
            return
        }
        attempt.watchForHeldBack(
            HeldBackWatch(written: written, tlsVersion: attempt.security?.tlsVersion, at: core.now))
    }

    /// Looks whether the request has left. If it has not, another attempt is made on a new connection, and no other request joins
    /// this one before something comes over it.
    /// - Returns: True if another attempt has begun.
    private func leaveIfHeldBack(_ watch: HeldBackWatch) -> Bool {
        attempt.watchForHeldBack(nil)
        guard attempt.mayLeaveHeldBack, let connection = attempt.connection, let written = connection.writtenBytes,
            watch.isHeldBack(written: written)
        else { return false }
        connection.isSilent = true
        attempt.reject(.heldBack)
        repeatAttempt()
        multi?.noteDropped(on: connection)
        return true
    }

    // MARK: Receiving

    enum Received { case taken, paused, failed }

    /// One line of a head or of trailers.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        guard attempt.isOnCourse else { return false }
        noteActivity()
        clock.endAwaitingHead()
        attempt.watchForHeldBack(nil)
        if attempt.speaksHTTP2 {
            try? easy?.showRawBody(false)
            if let connection { multi?.connections.noteHead(on: connection) }
        }
        if attempt.takeUnaskedCheck(), isUnasked {
            attempt.reject(.unaskedAnswer)
            return false
        }
        switch attempt.take(line) {
        case .nothing:
            // From the first field on, what libcurl joins a line to is of this exchange.
            if let easy, easy.showsHead, attempt.incoming.hasField { try? easy.showHead(false) }
            return true
        case .interim(let response): return receiveInterim(response)
        case .head(let head, let effects): return publish(head, effects)
        case .challenge(_, let effects): return perform(effects)
        case .stop: return false
        }
    }

    /// True if the answer has begun before its server had a byte of the request. The system learns with the first
    /// packet of an answer what of the request has arrived; then as much of it is open as has left.
    private var isUnasked: Bool {
        guard let easy, let open = attempt.connection?.unconfirmedBytes, open > 0 else { return false }
        let left = easy.long(CURLINFO_REQUEST_SIZE)
        return left > 0 && open >= left
    }

    private func receiveInterim(_ response: HTTPResponse) -> Bool {
        interimCount += 1
        guard interimCount <= Self.interimLimit else {
            attempt.fail(CurlewError(.invalidResponse, "more than \(Self.interimLimit) interim responses"))
            return false
        }
        if interim.count < prepared.limits.interimResponses { interim.append(response) }
        multi?.markChanged(self)
        return true
    }

    /// A challenge that libcurl has not answered is the response.
    private func publishChallenge() {
        // What fails in it is noted, and found where the caller looks for failures.
        if let (head, effects) = attempt.takeChallenge() { _ = publish(head, effects) }
    }

    private func publish(_ head: HTTPResponse, _ effects: Attempt.HeadEffects) -> Bool {
        guard perform(effects) else { return false }
        attempt.publish(head, effects)
        multi?.markChanged(self)
        if attempt.isAnsweredEarly { rearm() }
        return true
    }

    private func perform(_ effects: Attempt.HeadEffects) -> Bool {
        guard !effects.isEmpty, let easy else { return true }
        do {
            if effects.contains(.closesConnection) { try easy.forbidReuse(true) }
            if effects.contains(.showsRawBody) { try easy.showRawBody(true) }
            return true
        } catch {
            attempt.fail(CurlewError(ofEngine: error))
            return false
        }
    }

    /// The raw bytes of a chunked body, before libcurl takes the chunks apart.
    func observeRawBody(_ bytes: UnsafeRawBufferPointer) { attempt.follow(raw: bytes) }

    /// libcurl says something. It says of a GOAWAY when it reads it.
    func observeWords(_ words: UnsafeRawBufferPointer) {
        if String(decoding: words, as: UTF8.self).contains("GOAWAY, error=") { attempt.connection?.hasGoAway = true }
    }

    /// Has libcurl say what it reads as long as no response has begun, and looks at what it writes, if only a refusal by the server
    /// would permit that the request is sent again. Not while the request is sent, as libcurl then says much.
    private func listenForGoAway() {
        guard attempt.speaksHTTP2, !prepared.isIdempotent, attempt.mayResendBody else { return }
        try? easy?.showRawBody(true)
    }

    /// Bytes of the body, after chunked coding.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Received {
        if let easy, easy.showsHead, !attempt.incoming.isHeadComplete { return lookAtHead(bytes) }
        if attempt.incoming.provisionalChallenge != nil { publishChallenge() }
        guard attempt.failure == nil, attempt.incoming.head != nil else {
            attempt.fail(CurlewError(.invalidResponse, "a body came before the end of the head"))
            return .failed
        }
        guard !attempt.pauses.contains(.suspended) else {
            attempt.pause(.reader)
            return .paused
        }
        guard stops.load(ordering: .relaxed) == 0, assembly.admits(bytes.count) else {
            attempt.pause(.reader)
            multi?.markChanged(self)
            rearm()
            return .paused
        }
        if let limiter, !limiter.admits(bytes.count, .receiving) {
            attempt.pause(.receivingRate)
            multi?.markChanged(self)
            return .paused
        }
        noteActivity()
        let left = attempt.incoming.framing.contentLength.map { $0 - receivedBodyBytes }
        wakeIfNeeded(assembly.append(bytes, left: left, keepsPrefix: keepsPrefix))
        attempt.countReceived(bytes.count)
        multi?.markChanged(self)
        if prepared.hasBody, attempt.isAnsweredEarly { rearm() }
        return .taken
    }

    /// A line of the head, before libcurl does anything with it (``Engine/joinsFreedLines``).
    private func lookAtHead(_ line: UnsafeRawBufferPointer) -> Received {
        guard attempt.incoming.isFoldedFirst(line) else { return .taken }
        attempt.fail(CurlewError(.invalidResponse, "the first field line is folded"))
        return .failed
    }

    /// libcurl wants to read no more from the connection. Called from within libcurl.
    /// - Parameter isOpen: True if the peer has not closed the connection. With TLS that is not known, as it may be said in a record.
    func readingStopped(isOpen: @autoclosure () -> Bool) {
        guard outcome == nil, prepared.hasBody else { return }
        attempt.readingStopped(isOpen: !prepared.uri.layout.isSecure && isOpen())
        guard attempt.isOverBeforeBody else { return }
        let plan = attempt.plan
        core.execute { [weak self] in self?.endBeforeBody(plan) }
    }

    private func endBeforeBody(_ plan: Attempt.Plan) {
        guard outcome == nil, attempt.plan == plan, attempt.isOverBeforeBody else { return }
        settle(attempt.outcomeBeforeBody())
    }

    /// True if the body's beginning may be part of an error.
    private var keepsPrefix: Bool { attempt.incoming.head != nil && attempt.incoming.status >= 300 }

    /// A reader that took a chunk at once has made room.
    private func wakeIfNeeded(_ isNeeded: Bool) {
        // Not at once: this may be inside one of libcurl's callbacks.
        if isNeeded { core.send(.readOn, to: self) }
    }

    // MARK: HTTP/2 answers before the end of the request

    /// The moment at which to look whether the request's body is still wanted.
    private var earlyDeadline: Instant {
        prepared.hasBody && attempt.isOverEarly ? earlyAnswer.deadline(after: clock.lastActivity) : .distantFuture
    }

    /// True if the request was not sent, and nothing of it leaves any more.
    private func endsEarly() -> Bool {
        guard let easy else { return false }
        guard !attempt.outgoing.isSent || easy.offset(CURLINFO_SIZE_UPLOAD_T) < attempt.outgoing.sentBytes else {
            earlyAnswer.end()
            return false
        }
        return earlyAnswer.hasStopped(written: attempt.connection?.writtenBytes, at: core.now)
    }

    /// Has libcurl look for the end of the response and of the request, after something has come over the connection.
    func connectionHasRead() { if attempt.isAnsweredEarly { lookForEnd() } }

    // MARK: Sending

    /// What the engine is given of the body.
    enum Provided {
        case bytes(Int)
        case wait
        case failed
    }

    /// libcurl wants to read the body again.
    func rewindBody() { attempt.rewind() }

    /// Copies the next bytes of the body into `space`.
    func provideBody(_ space: UnsafeMutableRawBufferPointer) -> Provided {
        guard attempt.failure == nil else { return .failed }
        if attempt.pauses.contains(.suspended) {
            attempt.pause(.body)
            return .wait
        }
        if !attempt.outgoing.hasSource {
            // Weak twice: what a producer hands to a loop that has ended meanwhile stays there, and must hold nothing.
            let source = feed.next(for: prepared) { [weak self, core = core] in
                core.execute { [weak self] in self?.bodyArrived() }
            }
            guard let source else {
                attempt.fail(CurlewError(.bodyNotReplayable, "the body would have to be read a second time"))
                return .failed
            }
            attempt.beginBody(from: source)
        }
        noteActivity()
        multi?.markChanged(self)
        guard let limiter, attempt.outgoing.hasMore else { return provided(attempt.provide(into: space)) }
        let allowed = limiter.allowance(for: space.count, .sending)
        guard allowed > 0 else {
            attempt.pause(.sendingRate)
            return .wait
        }
        let provided = attempt.provide(into: UnsafeMutableRawBufferPointer(rebasing: space[..<allowed]))
        var used = 0
        if case .bytes(let count) = provided { used = count }
        if used < allowed { limiter.keep(allowed - used, .sending) }
        return self.provided(provided)
    }

    private func provided(_ provided: OutgoingBody.Provided) -> Provided {
        switch provided {
        case .bytes(let count): multi?.uploadedBytes &+= count
        case .end: break
        case .wait: return .wait
        case .failed: return .failed
        }
        if attempt.isInOrderAgain, attempt.connection?.isWorn != true { try? easy?.forbidReuse(false) }
        if attempt.awaitsHead {
            clock.awaitHead(since: core.now)
            rearm()
            listenForGoAway()
        }
        // Not at once: libcurl has yet to send what it is given now.
        if Engine.overlooksEndOfStream, attempt.mayEndByRequest { core.send(.lookForEnd, to: self) }
        if case .bytes(let count) = provided { return .bytes(count) }
        return .bytes(0)
    }

    /// Has libcurl read once more, whether or not the socket has something.
    private func lookForEnd() {
        guard outcome == nil, let easy, attempt.pauses.isDisjoint(with: .receiving) else { return }
        _ = easy.pause(attempt.pauses.union(.reader))
        resume(easy)
    }

    // MARK: Time

    /// Called with every byte either way.
    func noteActivity() { clock.noteActivity(at: core.now) }

    /// A moment to look at the clocks.
    override func fire() {
        let now = core.now
        let expiry = clock.expiry(at: now, clockPosition)
        // A thread that had no processor for a while reads what has come meanwhile first.
        hasSeenExpiry = expiry != nil && !hasSeenExpiry
        guard !hasSeenExpiry else { return core.timers.set(self, to: now.advanced(by: 1)) }
        if expiry == .head, hasPartOfHead {
            clock.endAwaitingHead()
        } else if let expiry {
            return fail(expiry.error(prepared.timeouts))
        }
        if let watch = attempt.heldBack, watch.deadline <= now, leaveIfHeldBack(watch) { return }
        if earlyDeadline <= now, endsEarly() { return settle(attempt.outcomeOfEarlyAnswer()) }
        core.timers.set(self, to: nearestDeadline)
    }

    /// True if bytes of a head have come, though no line of it. With TLS and HTTP/2 they may be something else.
    private var hasPartOfHead: Bool {
        guard let since = clock.headAwaitedSince, let connection = attempt.connection, !connection.isMultiplexed,
            !prepared.uri.layout.isSecure
        else { return false }
        return connection.lastInput > since
    }

    private var clockPosition: TransferClock.Position {
        TransferClock.Position(stage: attempt.stage, pauses: attempt.pauses, isClaimed: isClaimed)
    }

    private var nearestDeadline: Instant {
        min(
            clock.nearestDeadline(clockPosition),
            attempt.heldBack?.deadline ?? .distantFuture, earlyDeadline)
    }

    /// Sees to it that the timer fires at the nearest deadline. One that is set for an earlier moment is left alone: it
    /// looks at the clocks anew when it fires, and moving it with every step would be for nothing.
    private func rearm() {
        guard outcome == nil else { return }
        let nearest = nearestDeadline
        if nearest < deadline { core.timers.set(self, to: nearest) }
    }

    // MARK: Pausing

    /// Stops or restarts the bytes in both directions for the user.
    func setSuspended(_ isSuspended: Bool) {
        // On resuming, what else held back is asked again: the callbacks find out whether it still does.
        if isSuspended {
            attempt.pause(.suspended)
        } else {
            attempt.unpause(attempt.pauses)
            clock.restart(at: core.now)
        }
        applyPauses()
    }

    /// The reader has made room.
    func readerMadeRoom() { unpause(.reader) }

    /// There is something to send again.
    private func bodyArrived() { unpause(.body) }

    private func unpause(_ reasons: PauseReasons) {
        guard !attempt.pauses.isDisjoint(with: reasons) else { return }
        attempt.unpause(reasons)
        applyPauses()
    }

    private func applyPauses() {
        guard position >= 0, let easy else { return rearm() }
        noteActivity()
        resume(easy)
    }

    private func resume(_ easy: EasyHandle) {
        rearm()
        attempt.connection?.shard?.noteWork()
        // Resuming delivers what libcurl had kept, and so may end in one of our rejections.
        let result = easy.pause(attempt.pauses)
        if result != CURLE_OK, result != CURLE_BAD_FUNCTION_ARGUMENT {
            fail(attempt.failure ?? CurlewError(ErrorCode(result), String(cString: curl_easy_strerror(result))))
        }
    }

    /// Limits the transfer's rate, from its start on or from now on.
    /// - Parameter limit: Its own; that of the session is the multi handle's.
    func setRateLimit(_ limit: RateLimit) {
        guard outcome == nil else { return }
        if limit == .none, multi?.rate == nil {
            limiter?.release()
            limiter = nil
        } else if let limiter {
            limiter.change(limit: limit, shared: multi?.rate)
        } else {
            limiter = RateLimiter(core: core, limit: limit, shared: multi?.rate) { [weak self] direction in
                self?.unpause(direction == .sending ? .sendingRate : .receivingRate)
            }
        }
        // What waited for the old limits asks again.
        unpause([.sendingRate, .receivingRate])
    }
}

extension CurlewError {
    fileprivate static var cutShort: CurlewError {
        CurlewError(
            .responseTruncated,
            "the HTTP/2 connection broke, and whether the body, which has no length, was whole is not known")
    }

    /// The error that something of the engine's has thrown.
    fileprivate init(ofEngine error: any Error) {
        self = error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")
    }
}
