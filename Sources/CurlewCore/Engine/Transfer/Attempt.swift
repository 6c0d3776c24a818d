internal import HTTPTypes

/// A single attempt of an exchange, with all its state. The next attempt is a new value that replaces this one
/// completely: only ``successor`` carries state over.
///
/// The type is a pure state machine: events go in, and actions come out. ``Transfer`` performs the actions.
struct Attempt: ~Copyable {
    /// The greatest number of attempts of an exchange, and of attempts that repair a fault of the machine or of
    /// libcurl.
    static let limit = 6
    static let repairLimit = 4
    /// The greatest number of kept connections that an exchange may find ended. A server may end all of them at once.
    static let lossLimit = 256
    /// The greatest number of challenges that libcurl answers in an exchange.
    static let challengeLimit = 8

    let request: PreparedRequest
    private let cache: ResponseHeadCache
    private(set) var plan: Plan
    private(set) var stage = CurlewError.Stage.preparing

    // State of the connection, once there is one.
    private(set) var connection: Connection?
    private(set) var isReused = false
    private(set) var wire = WireProtocol.http1
    /// True if the attempt is a stream of its connection.
    private var hasStream = false
    /// The handshake of the connection; nil without TLS.
    private(set) var handshake: Handshake?
    /// The negotiated security; nil without TLS.
    private(set) var security: ConnectionSecurity?
    private var readyCount = 0
    private(set) var challengeCount: Int
    private var mayBeUnasked = false
    private(set) var heldBack: HeldBackWatch?

    private(set) var outgoing: OutgoingBody
    private(set) var incoming: IncomingResponse
    private(set) var pauses: PauseReasons

    /// The error of the attempt, whatever libcurl reports.
    private(set) var failure: CurlewError?
    private(set) var rejection: AttemptRejection?
    /// The end of the response, if it came before the body was sent.
    private(set) var end: End?

    enum End {
        case answered
        case brokenOff
    }

    init(_ request: PreparedRequest, plan: Plan, cache: ResponseHeadCache) {
        self.init(request, plan: plan, cache: cache, challengeCount: 0, pauses: [])
    }

    private init(
        _ request: PreparedRequest, plan: Plan, cache: ResponseHeadCache, challengeCount: Int, pauses: PauseReasons
    ) {
        self.request = request
        self.plan = plan
        self.cache = cache
        self.challengeCount = challengeCount
        self.pauses = pauses
        outgoing = OutgoingBody(length: request.contentLength)
        incoming = IncomingResponse(limits: request.limits, cache: cache, expectsUpgrade: request.upgrade != nil)
    }

    /// The attempt that follows this rejected one.
    var successor: Attempt {
        var plan = plan
        // A full connection has used up no attempt.
        if hasLostKeptConnection { plan.losses += 1 } else if rejection != .fullConnection { plan.number += 1 }
        // Over TCP any connection serves.
        if rejection != .fullConnection { plan.isFresh = rejection != .noQUIC || request.needsOwnConnection }
        if rejection == .noQUIC || (rejection == .http11Required && wire == .http3) { plan.isOverTCP = true }
        if rejection == .expectation { plan.isUnexpecting = true }
        if rejection == .http11Required { plan.isHTTP11 = true }
        return Attempt(
            request, plan: plan, cache: cache, challengeCount: challengeCount,
            pauses: pauses.intersection(.suspended))
    }

    /// True if a kept connection turned out to have ended before a byte of the request was sent.
    private var hasLostKeptConnection: Bool { rejection == .lostConnection && isReused }

    /// Releases the objects that only a running attempt needs.
    mutating func letGo() {
        connection = nil
        handshake = nil
        heldBack = nil
        closeBody()
    }

    /// True if the attempt has neither failed nor been rejected.
    var isOnCourse: Bool { failure == nil && rejection == nil }

    /// Records an error. The first one counts.
    mutating func fail(_ error: CurlewError) { if failure == nil { failure = error } }

    mutating func reject(_ reason: AttemptRejection) { if rejection == nil { rejection = reason } }

    // MARK: Connecting

    /// Records that libcurl is about to get the request.
    mutating func begin() {
        stage = .connecting
        if request.hasBody, request.contentLength == 0 { outgoing.skip() }
    }

    /// Records the connection that the pool has chosen.
    mutating func take(_ connection: Connection) {
        self.connection = connection
        take(isReused: connection.isUsed)
    }

    /// - Parameter isReused: True if the connection has already carried a request.
    mutating func take(isReused: Bool) { self.isReused = isReused }

    /// Answers libcurl's request to open a socket.
    mutating func opening() -> Opening {
        guard let connection, isOnCourse else { return .refused }
        if !connection.isHandedOver { return .handOver(connection) }
        let awaitsProxy = !connection.isUsed && request.options.values.proxy?.awaitsChallenge == true
        if incoming.provisionalChallenge != nil || awaitsProxy { return .again(connection) }
        let isFull = connection.isMultiplexed && !connection.isClosed && connection.users > 1
        if !isFull, !connection.isClosed { EngineGuards.noteNeedlessSocket() }
        reject(isFull ? .fullConnection : isBeginningQUIC ? .noQUIC : .lostConnection)
        return .refused
    }

    /// True if libcurl looks for a connection to repeat the request, without answering a challenge.
    var isRepeatedByEngine: Bool { readyCount > 0 && incoming.provisionalChallenge == nil && isOnCourse }

    /// Answers libcurl's request to send on its connection.
    mutating func connectionIsReady() -> Leave {
        let isAnswer = incoming.provisionalChallenge != nil
        if isAnswer { challengeIsAnswered() }
        guard isOnCourse else { return isAnswer ? .refusedAgain : .refused }
        readyCount += 1
        return isAnswer ? .grantedAgain : .granted
    }

    /// Records that libcurl has answered the challenge and is about to repeat the request.
    private mutating func challengeIsAnswered() {
        let code: ErrorCode = incoming.provisionalChallenge?.status.code == 407 ? .proxyFailed : .invalidResponse
        if let obstacle = obstacleToRepetition { fail(obstacle) }
        incoming = IncomingResponse(limits: request.limits, cache: cache)
        readyCount = 0
        challengeCount += 1
        if challengeCount > Self.challengeLimit { fail(CurlewError(code, "the server sent too many challenges")) }
    }

    /// - Returns: True if the request may use the connection.
    mutating func mayUse(_ candidate: ConnectionCandidate) -> Bool {
        guard candidate.isChosen else {
            EngineGuards.noteWrongConnection()
            return rejected(.lostConnection)
        }
        guard !candidate.isOutOfStep else { return rejected(.strayInput) }
        guard candidate.isAccepted else {
            fail(CurlewError(.untrustedCertificate, "the connection was not accepted under the request's policy"))
            return false
        }
        handshake = candidate.handshake
        security = candidate.security
        wire = candidate.wire
        guard !request.isHandshakeOnly else {
            var context = CurlewError.Context()
            context.handshake = security
            fail(CurlewError(.cancelled, "the connection was wanted, and no answer", context: context))
            return false
        }
        stage = .exchanging
        return true
    }

    /// - Returns: True if the attempt has just become a stream of its connection.
    mutating func beginStream() -> Bool {
        guard wire.hasStreams, !hasStream else { return false }
        hasStream = true
        return true
    }

    /// Records that the attempt has finished with its connection, or leaves it for another.
    mutating func endStream() {
        if hasStream { connection?.endStream() }
        hasStream = false
    }

    private mutating func rejected(_ reason: AttemptRejection) -> Bool {
        reject(reason)
        return false
    }

    /// The server's refusal of the request, as a message of libcurl has reported it; nil for none.
    private(set) var reportedRefusal: AttemptRejection?

    mutating func noteRefusal(_ reason: AttemptRejection) { reportedRefusal = reason }

    /// Makes a request that prefers HTTP/3 use TCP.
    mutating func useTCP() { plan.isOverTCP = true }

    // MARK: First response

    /// Sets whether the first byte of a response is checked: the peer must have received the request before.
    mutating func watchForUnaskedAnswer(_ isNeeded: Bool) { mayBeUnasked = isNeeded }

    /// True if the response that begins must be checked now. True once.
    mutating func takeUnaskedCheck() -> Bool {
        defer { mayBeUnasked = false }
        return mayBeUnasked && outgoing.sentBytes == 0
    }

    /// Records that the request joins an HTTP/2 connection without other requests.
    mutating func watchForHeldBack(_ watch: HeldBackWatch?) { heldBack = watch }

    // MARK: Head

    /// Processes one line of a head or of trailers.
    mutating func take(_ line: UnsafeRawBufferPointer) -> LineAction {
        switch incoming.take(line) {
        case .more, .trailers: return .nothing
        case .interim(let response): return .interim(response)
        case .head(let response): return takeHead(response)
        case .invalid(let code, let message):
            fail(CurlewError(code, message))
            return .stop
        }
    }

    private mutating func takeHead(_ response: HTTPResponse) -> LineAction {
        guard wire.sends(incoming.version) else {
            fail(CurlewError(.invalidResponse, "the answer claims \(incoming.version), which was not agreed on"))
            return .stop
        }
        if incoming.status == 101, request.upgrade?.isAccepted(by: response) != true {
            fail(CurlewError(.invalidResponse, "the server switched to a protocol that was not requested"))
            return .stop
        }
        if incoming.status == 417, request.expectContinue != nil, !plan.isUnexpecting, outgoing.sentBytes == 0 {
            reject(.expectation)
            return .stop
        }
        if incoming.status == 421, !plan.isFresh, !outgoing.hasSource || request.body.isReplayable {
            reject(.misdirected)
            return .stop
        }
        var effects: HeadEffects = spoilsConnection ? .closesConnection : []
        if mayHideExcess { effects.insert(.showsRawBody) }
        guard !isAnsweredByEngine(incoming.status) else {
            incoming.keepChallenge(response)
            return .challenge(response, effects)
        }
        return .head(response, effects.union(effectsOfPublishing))
    }

    /// True if libcurl itself answers challenges with this status.
    private func isAnsweredByEngine(_ status: Int) -> Bool {
        switch status {
        case 401: request.engineCredential != nil
        case 407: request.options.values.proxy?.awaitsChallenge == true
        default: false
        }
    }

    /// The effects of a response that came before the body was sent: unless the rest of the body is still sent, the
    /// connection cannot be reused.
    private var effectsOfPublishing: HeadEffects {
        request.hasBody && !outgoing.isSent && !incoming.version.hasStreams ? .closesConnection : []
    }

    /// Returns a challenge that libcurl has not answered: it is the response. Bytes of the body may have arrived
    /// already.
    mutating func takeChallenge() -> (head: HTTPResponse, effects: HeadEffects)? {
        incoming.takeChallenge().map { ($0, effectsOfPublishing) }
    }

    /// Records that the head is published to the caller.
    mutating func publish(_ head: HTTPResponse, _ effects: HeadEffects) {
        if effects.contains(.showsRawBody), incoming.framing.isChunked, Engine.showsRawBody { incoming.followChunks() }
        stage = .receiving
        incoming.publish(head)
    }

    // MARK: Bodies

    mutating func follow(raw bytes: UnsafeRawBufferPointer) {
        guard incoming.head != nil, failure == nil else { return }
        if !incoming.follow(raw: bytes) {
            fail(CurlewError(.invalidResponse, "the chunked coding of the body is broken"))
        }
    }

    /// Records bytes behind the end of the response.
    mutating func noteExcess() { incoming.noteExcess() }

    mutating func countReceived(_ count: Int) { incoming.countBody(count) }

    /// Counts the sent bytes of another protocol.
    mutating func countSent(_ count: Int) { outgoing.countSent(count) }

    mutating func pause(_ reasons: PauseReasons) { pauses.insert(reasons) }

    mutating func unpause(_ reasons: PauseReasons) { pauses.subtract(reasons) }

    mutating func beginBody(from source: UploadSource) { outgoing.begin(from: source) }

    /// Copies the next bytes of the body into `space`.
    mutating func provide(into space: UnsafeMutableRawBufferPointer) -> OutgoingBody.Provided {
        let provided = outgoing.provide(into: space)
        switch provided {
        case .wait: pause(.body)
        case .failed(let error): fail(error)
        case .bytes, .end: break
        }
        return provided
    }

    /// Records that libcurl has stopped reading from the connection, although no pause is set and the body was not
    /// sent.
    /// - Parameter isOpen: True if the connection is known to be open.
    mutating func readingStopped(isOpen: Bool) {
        guard mayEndBeforeBody, let isWhole = incoming.isWholeAtEnd(method: request.method, isOpen: isOpen) else {
            return
        }
        // A final response to an expectation ends the exchange. libcurl 8.21 would send the body after the wait.
        if !isWhole || incoming.refusesRest || awaitsPermission { end = isWhole ? .answered : .brokenOff }
    }

    /// Records a whole response in place of 100 (Continue). libcurl does not show that it has stopped reading if the
    /// response arrived before libcurl watched the connection.
    mutating func noteAnswerWithoutPermission() {
        guard awaitsPermission, mayEndBeforeBody, incoming.isBodyWhole(method: request.method) else { return }
        end = .answered
    }

    /// The outcome of an exchange that ended before the request was sent. libcurl does not show the end of a stream, so
    /// a body with bytes and without a length may be incomplete.
    mutating func outcomeOfEarlyAnswer() -> Result<HTTPFields, CurlewError> {
        guard incoming.isBodyWhole(method: request.method) || incoming.bodyBytes == 0 else {
            return .failure(
                CurlewError(
                    .responseTruncated, "the response came before the request was sent, and its end cannot be seen"))
        }
        return .success(incoming.takeTrailers())
    }

    mutating func closeBody() { outgoing.close() }

    /// Rewinds the body, if libcurl answers a challenge. Any other repetition is rejected when libcurl looks for a
    /// connection.
    ///
    /// It cannot be rejected here. Since 8.7 libcurl rewinds after it has joined a connection; on a failure it would
    /// free the connection under the other transfers that use it. 7.88 asks the transfer that has joined the connection
    /// last.
    mutating func rewind() {
        guard incoming.provisionalChallenge != nil, request.body.isReplayable else { return }
        // The next read opens a new stream, if the source was a stream.
        outgoing.rewind()
    }

    // MARK: End

    /// Decides whether the exchange continues after libcurl has ended the attempt.
    /// - Parameter failure: The failure; nil if libcurl reports success.
    /// - Returns: True if the exchange continues with the ``successor``.
    mutating func isToBeRepeated(after failure: EngineFailure?) -> Bool {
        if let failure, self.failure == nil, rejection == nil { rejection = ownRejection(of: failure) }
        guard let rejection, self.failure == nil else { return false }
        guard hasLostKeptConnection ? plan.losses < Self.lossLimit : plan.number < Self.limit else { return false }
        switch rejection {
        case .strayInput, .expectation, .misdirected, .lostConnection, .fullConnection, .unsent, .refusedStream,
            .heldBack:
            // The server has received no request that it could have processed.
            return mayResendBody
        case .http11Required:
            return mayResendBody && !plan.isHTTP11 && (request.version == .negotiated || request.version == .http3)
        case .noQUIC: return mayUseTCP
        case .resend, .unaskedAnswer, .brokenStream:
            return request.isIdempotent && incoming.head == nil && !incoming.hasBegun && mayResendBody
        }
    }

    /// The reason to reject an attempt that libcurl has ended; nil if the failure counts.
    private func ownRejection(of failure: EngineFailure) -> AttemptRejection? {
        guard plan.number < Self.repairLimit else { return nil }
        if wire == .http2, failure.isGoAway, !incoming.hasBegun { return .refusedStream }
        if wire == .http3, failure.requiresHTTP11, !incoming.hasBegun { return .http11Required }
        if isQUICUnusable(failure) { return .noQUIC }
        return failure.isBrokenStream && !incoming.hasBegun && outgoing.sentBytes == 0 ? .brokenStream : nil
    }

    /// The outcome of the exchange after an attempt that is not repeated.
    /// - Parameter failure: As for ``isToBeRepeated(after:)``.
    /// - Returns: The trailers, or the error.
    mutating func outcome(after failure: EngineFailure?) -> Result<HTTPFields, CurlewError> {
        if let error = self.failure ?? EngineVerdict(request).error(in: self, after: failure) { return .failure(error) }
        return .success(incoming.takeTrailers())
    }
}
