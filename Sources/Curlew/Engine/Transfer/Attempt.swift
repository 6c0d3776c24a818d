internal import HTTPTypes

/// One try of an exchange: all that belongs to it and to no other. Another try is another value, which takes the place of
/// this one as a whole, so that nothing of one try is left in the next but what ``successor`` hands on.
///
/// A pure machine: an event goes in, and what is to be done comes out. It performs nothing; ``Transfer`` does.
struct Attempt: ~Copyable {
    /// The most attempts of an exchange, and the most of them that are spent on what is the machine's or libcurl's fault.
    static let limit = 6
    static let repairLimit = 4
    /// The most kept connections that an exchange may find ended. A server may end all there are at a time.
    static let lossLimit = 256
    /// The most challenges that libcurl answers in an exchange.
    static let challengeLimit = 8

    let request: PreparedRequest
    private let cache: ResponseHeadCache
    private(set) var plan: Plan
    private(set) var stage = CurlewError.Stage.preparing

    // The connection, once there is one.
    private(set) var connection: Connection?
    private(set) var isReused = false
    private(set) var speaksHTTP2 = false
    /// True if it is a stream of its connection.
    private var hasStream = false
    /// How the connection came to be; nil without TLS.
    private(set) var handshake: Handshake?
    /// What TLS agreed on; nil without it.
    private(set) var security: ConnectionSecurity?
    private var readyCount = 0
    private var challengeCount: Int
    private var mayBeUnasked = false
    private(set) var heldBack: HeldBackWatch?

    private(set) var outgoing: OutgoingBody
    private(set) var incoming: IncomingResponse
    private(set) var pauses: PauseReasons

    /// What the attempt fails with, whatever libcurl makes of it.
    private(set) var failure: CurlewError?
    private(set) var rejection: AttemptRejection?
    /// How the answer has ended, if that was before the body was sent.
    private var end: End?

    private enum End {
        case answered
        case brokenOff
    }

    /// True if the answer has come whole before the body was sent.
    var isAnswered: Bool { end == .answered }

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

    /// The attempt that follows this one, which was rejected.
    var successor: Attempt {
        var plan = plan
        // A full connection has cost nothing but the look.
        if hasLostKeptConnection { plan.losses += 1 } else if rejection != .fullConnection { plan.number += 1 }
        if rejection != .fullConnection { plan.isFresh = true }
        if rejection == .expectation { plan.isUnexpecting = true }
        if rejection == .http11Required { plan.isHTTP11 = true }
        return Attempt(
            request, plan: plan, cache: cache, challengeCount: challengeCount,
            pauses: pauses.intersection(.suspended))
    }

    /// True if a kept connection turned out to have ended before a byte of the request was sent.
    private var hasLostKeptConnection: Bool { rejection == .lostConnection && isReused }

    /// Lets go of what only an attempt under way needs.
    mutating func letGo() {
        connection = nil
        handshake = nil
        heldBack = nil
        closeBody()
    }

    /// True if the attempt has neither failed nor been rejected.
    var isOnCourse: Bool { failure == nil && rejection == nil }

    /// What fails first is what it fails with.
    mutating func fail(_ error: CurlewError) { if failure == nil { failure = error } }

    mutating func reject(_ reason: AttemptRejection) { if rejection == nil { rejection = reason } }

    // MARK: Connecting

    /// The engine is about to be given the request.
    mutating func begin() {
        stage = .connecting
        if request.hasBody, request.contentLength == 0 { outgoing.skip() }
    }

    /// The pool has chosen a connection.
    mutating func take(_ connection: Connection) {
        self.connection = connection
        take(isReused: connection.isUsed)
    }

    /// - Parameter isReused: True if a request has gone over the connection.
    mutating func take(isReused: Bool) { self.isReused = isReused }

    /// libcurl wants to open a socket.
    mutating func opening() -> Opening {
        guard let connection, isOnCourse else { return .refused }
        if !connection.isHandedOver { return .handOver(connection) }
        let awaitsProxy = !connection.isUsed && request.options.values.proxy?.awaitsChallenge == true
        if incoming.provisionalChallenge != nil || awaitsProxy { return .again(connection) }
        let isFull = connection.isMultiplexed && !connection.isClosed && connection.users > 1
        if !isFull, !connection.isClosed { EngineGuards.noteNeedlessSocket() }
        reject(isFull ? .fullConnection : .lostConnection)
        return .refused
    }

    /// True if libcurl looks for a connection to send the request a second time, though it answers no challenge.
    var isRepeatedByEngine: Bool { readyCount > 0 && incoming.provisionalChallenge == nil && isOnCourse }

    /// libcurl has a connection, and asks for leave to send the request.
    mutating func connectionIsReady() -> Leave {
        let isAnswer = incoming.provisionalChallenge != nil
        if isAnswer { challengeIsAnswered() }
        guard isOnCourse else { return isAnswer ? .refusedAgain : .refused }
        readyCount += 1
        return isAnswer ? .grantedAgain : .granted
    }

    /// libcurl has answered the challenge and is about to send the request again.
    private mutating func challengeIsAnswered() {
        let code: ErrorCode = incoming.provisionalChallenge?.status.code == 407 ? .proxyFailed : .invalidResponse
        incoming = IncomingResponse(limits: request.limits, cache: cache)
        readyCount = 0
        challengeCount += 1
        if challengeCount > Self.challengeLimit { fail(CurlewError(code, "the challenges have no end")) }
    }

    /// - Returns: Whether the request may go over the connection.
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
        speaksHTTP2 = candidate.speaksHTTP2
        guard !request.isHandshakeOnly else {
            var context = CurlewError.Context()
            context.handshake = security
            fail(CurlewError(.cancelled, "the connection was wanted, and no answer", context: context))
            return false
        }
        stage = .exchanging
        return true
    }

    /// - Returns: True if the attempt becomes a stream of its connection now.
    mutating func beginStream() -> Bool {
        guard speaksHTTP2, !hasStream else { return false }
        hasStream = true
        return true
    }

    /// True if libcurl has not come to use a kept connection, which goes on being there.
    func hasLeftUntouched(_ connection: Connection) -> Bool {
        stage == .connecting && isReused && !connection.isClosed && connection.isOpen
    }

    /// The attempt is done with its connection, or leaves it for another.
    mutating func endStream() {
        if hasStream { connection?.endStream() }
        hasStream = false
    }

    private mutating func rejected(_ reason: AttemptRejection) -> Bool {
        reject(reason)
        return false
    }

    // MARK: The first answer

    /// True if the answer may not be one to this request: only a kept connection may bring the answer to another.
    var isOpenToUnaskedAnswers: Bool { isReused && !speaksHTTP2 && challengeCount == 0 }

    /// Has it checked from now on, when the first byte of an answer comes, that the peer can have had the request.
    mutating func watchForUnaskedAnswer(_ isNeeded: Bool) { mayBeUnasked = isNeeded }

    /// True if it has to be checked now that the answer that begins is one to this request. True once.
    mutating func takeUnaskedCheck() -> Bool {
        defer { mayBeUnasked = false }
        return mayBeUnasked && outgoing.sentBytes == 0
    }

    /// The request joins an HTTP/2 connection that carries no other.
    mutating func watchForHeldBack(_ watch: HeldBackWatch?) { heldBack = watch }

    // MARK: The head

    /// One line of a head or of trailers.
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
        guard (incoming.version == .http2) == speaksHTTP2 else {
            fail(CurlewError(.invalidResponse, "the answer claims \(incoming.version), which was not agreed on"))
            return .stop
        }
        if incoming.status == 101, request.upgrade?.isAccepted(by: response) != true {
            fail(CurlewError(.invalidResponse, "the server switched to another protocol than was asked for"))
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
        // What follows such a head on its connection cannot be trusted.
        let effects: HeadEffects = incoming.framing.isAmbiguous ? .closesConnection : []
        guard !isAnsweredByEngine(incoming.status) else {
            incoming.keepChallenge(response)
            return .challenge(response, effects)
        }
        var all = effects.union(effectsOfPublishing)
        if incoming.framing.isChunked, Engine.showsRawBody, request.upgrade == nil { all.insert(.showsRawBody) }
        return .head(response, all)
    }

    /// True if libcurl answers challenges with this status by itself.
    private func isAnsweredByEngine(_ status: Int) -> Bool {
        switch status {
        case 401: request.engineCredential != nil
        case 407: request.options.values.proxy?.awaitsChallenge == true
        default: false
        }
    }

    /// An answer before the body was sent: unless the rest of it still goes out, the connection is out of step.
    private var effectsOfPublishing: HeadEffects {
        request.hasBody && !outgoing.isSent && incoming.version != .http2 ? .closesConnection : []
    }

    /// libcurl has not answered the challenge: it is the response. Bytes of the body may have passed already.
    mutating func takeChallenge() -> (head: HTTPResponse, effects: HeadEffects)? {
        incoming.takeChallenge().map { ($0, effectsOfPublishing) }
    }

    /// The head is the caller's from now on.
    mutating func publish(_ head: HTTPResponse, _ effects: HeadEffects) {
        if effects.contains(.showsRawBody) { incoming.followChunks() }
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

    mutating func countReceived(_ count: Int) { incoming.countBody(count) }

    /// Bytes of another protocol were sent.
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

    /// libcurl reads no more of the connection, though nobody holds it back and the body was not sent.
    /// - Parameter isOpen: True if the connection is known to be open.
    mutating func readingStopped(isOpen: Bool) {
        guard pauses.isDisjoint(with: .receiving), request.hasBody, !outgoing.isSent, failure == nil,
            incoming.head != nil, incoming.provisionalChallenge == nil, incoming.version != .http2,
            let isWhole = incoming.isWholeAtEnd(method: request.method, isOpen: isOpen)
        else { return }
        if !isWhole || incoming.refusesRest { end = isWhole ? .answered : .brokenOff }
    }

    /// True if the exchange is over: the rest of the body would have to be waited for, and is of no use. libcurl itself waits for it.
    var isOverBeforeBody: Bool {
        end != nil && pauses.contains(.body) && pauses.isDisjoint(with: .receiving) && !outgoing.isSent
            && failure == nil
    }

    /// The outcome of an exchange that is over before the body was sent.
    mutating func outcomeBeforeBody() -> Result<HTTPFields, CurlewError> {
        guard end == .answered else {
            return .failure(CurlewError(.responseTruncated, "the connection ended before the body of the response did"))
        }
        return outcome(after: nil)
    }

    /// The outcome of an exchange that is over before the request was sent. libcurl shows nobody the end of a stream, so a body
    /// that has bytes and no length may be incomplete.
    mutating func outcomeOfEarlyAnswer() -> Result<HTTPFields, CurlewError> {
        guard incoming.isBodyWhole(method: request.method) || incoming.bodyBytes == 0 else {
            return .failure(
                CurlewError(
                    .responseTruncated, "the response came before the request was sent, and its end cannot be seen"))
        }
        return .success(incoming.takeTrailers())
    }

    mutating func closeBody() { outgoing.close() }

    /// libcurl wants to read the body again. It goes back to the start of the body if libcurl answers a challenge. Any other
    /// repetition is refused when libcurl looks for a connection. Not here: since 8.7 libcurl rewinds when it has joined a
    /// connection, and if that fails it frees the connection under the other transfers that use it; 7.88 asks the transfer that
    /// has joined the connection last.
    mutating func rewind() {
        guard incoming.provisionalChallenge != nil, request.body.isReplayable else { return }
        // The next reading asks for a fresh source where the old one was a stream.
        outgoing.rewind()
    }

    // MARK: The end

    /// The engine is done with the attempt.
    /// - Parameter failure: What it was ended by; nil if libcurl takes it for a success.
    /// - Returns: Whether the exchange continues with the ``successor``.
    mutating func isToBeRepeated(after failure: EngineFailure?) -> Bool {
        if let failure, self.failure == nil, rejection == nil { rejection = ownRejection(of: failure) }
        guard let rejection, self.failure == nil else { return false }
        guard hasLostKeptConnection ? plan.losses < Self.lossLimit : plan.number < Self.limit else { return false }
        switch rejection {
        case .strayInput, .expectation, .misdirected, .lostConnection, .fullConnection, .unsent, .refusedStream,
            .heldBack:
            // Nothing was sent that could have been acted on.
            return mayResendBody
        case .http11Required: return mayResendBody && !plan.isHTTP11 && request.version == .negotiated
        case .resend, .unaskedAnswer, .brokenStream:
            return request.isIdempotent && incoming.head == nil && !incoming.hasBegun && mayResendBody
        }
    }

    /// True if the body can be sent from its start.
    var mayResendBody: Bool { !outgoing.hasSource || request.body.isReplayable }

    /// True if another attempt may follow one over a connection that permits no stream.
    var mayLeaveHeldBack: Bool { isOnCourse && stage == .exchanging && plan.number < Self.limit && mayResendBody }

    /// Why an attempt that libcurl has ended is no exchange of the request's.
    private func ownRejection(of failure: EngineFailure) -> AttemptRejection? {
        guard plan.number < Self.repairLimit else { return nil }
        if speaksHTTP2, failure.isGoAway, !incoming.hasBegun { return .refusedStream }
        return failure.isBrokenStream && !incoming.hasBegun && outgoing.sentBytes == 0 ? .brokenStream : nil
    }

    /// How the exchange has ended, with an attempt that is not repeated.
    /// - Parameter failure: As for ``isToBeRepeated(after:)``.
    /// - Returns: The trailers, or what is wrong.
    mutating func outcome(after failure: EngineFailure?) -> Result<HTTPFields, CurlewError> {
        if let error = self.failure ?? EngineVerdict(request).error(in: self, after: failure) { return .failure(error) }
        return .success(incoming.takeTrailers())
    }
}
