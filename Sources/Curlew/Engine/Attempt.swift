internal import HTTPTypes

/// Why an attempt was given up though its exchange has not failed, so that another may be made.
enum AttemptRejection: CaseIterable {
    /// The kept connection had bytes or an end waiting.
    case strayInput
    /// libcurl wants to send the request a second time: its kept connection ended without a byte of a response.
    case resend
    /// The same, and not a byte of the request had left.
    case unsent
    /// The server has certainly not processed the request: it refused the stream (RFC 9113 §8.7), or has ended the connection
    /// by a GOAWAY whose last stream came before (§6.8).
    case refusedStream
    /// The server wants the request over HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7).
    case http11Required
    /// The HTTP/2 connection permits no stream, so the request has not left.
    case heldBack
    /// The server refused the expectation; the body has not left.
    case expectation
    /// The server says that the connection does not lead to whoever answers for the URI (421, RFC 9110 §15.5.20).
    case misdirected
    /// The engine does not have the connection any more, or has taken another one.
    case lostConnection
    /// The shared connection permits no more streams.
    case fullConnection
    /// An answer came over the kept connection before its server had a byte of the request.
    case unaskedAnswer
    /// libcurl has broken the request's stream, and nothing of an answer had come.
    case brokenStream

    /// True if libcurl was about to send the request a second time by itself.
    var isRepetition: Bool {
        switch self {
        case .resend, .unsent, .refusedStream, .http11Required: true
        default: false
        }
    }
}

/// What keeps bytes from flowing: the reader, the lack of a body to send, the user, or a limit of rate.
struct PauseReasons: OptionSet {
    let rawValue: UInt8
    static let reader = PauseReasons(rawValue: 1)
    static let body = PauseReasons(rawValue: 2)
    static let suspended = PauseReasons(rawValue: 4)
    static let sendingRate = PauseReasons(rawValue: 8)
    static let receivingRate = PauseReasons(rawValue: 16)

    /// Those that keep bytes from being read, and from being sent.
    static let receiving: PauseReasons = [.reader, .suspended, .receivingRate]
    static let sending: PauseReasons = [.body, .suspended, .sendingRate]
}

/// One try of an exchange: all that belongs to it and to no other. Another try is another value, which takes the place of
/// this one as a whole, so that nothing of one try is left in the next but what ``successor`` hands on.
///
/// A pure machine: an event goes in, and what is to be done comes out. It performs nothing; ``Transfer`` does.
struct Attempt: ~Copyable {
    /// How an attempt differs from the others of its exchange.
    struct Plan: Equatable {
        var number = 1
        /// On a new connection.
        var isFresh = false
        /// Without the expectation that the server refused.
        var isUnexpecting = false
        /// Over HTTP/1.1, as the server requires it.
        var isHTTP11 = false
    }

    /// The most attempts of an exchange, and the most of them that are spent on what is the machine's or libcurl's fault.
    static let limit = 6
    static let repairLimit = 4
    /// The most challenges that libcurl answers in an exchange.
    static let challengeLimit = 8

    private let request: PreparedRequest
    private let cache: ResponseHeadCache
    private(set) var plan: Plan
    private(set) var stage = CurlewError.Stage.preparing

    // The connection, once there is one.
    private(set) var connection: Connection?
    private(set) var isReused = false
    private(set) var speaksHTTP2 = false
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
        incoming = IncomingResponse(limits: request.limits, cache: cache)
    }

    /// The attempt that follows this one, which was rejected.
    var successor: Attempt {
        var plan = plan
        // A full connection has cost nothing but the look.
        if rejection != .fullConnection {
            plan.number += 1
            plan.isFresh = true
        }
        if rejection == .expectation { plan.isUnexpecting = true }
        if rejection == .http11Required { plan.isHTTP11 = true }
        return Attempt(
            request, plan: plan, cache: cache, challengeCount: challengeCount,
            pauses: pauses.intersection(.suspended))
    }

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

    /// The answer to libcurl when it wants to open a socket.
    enum Opening {
        /// The socket of the connection that was chosen.
        case handOver(Connection)
        /// A new one towards the same end: libcurl answers a challenge, and the peer has closed the connection that it came over.
        case again(Connection)
        case refused
    }

    /// libcurl wants to open a socket.
    mutating func opening() -> Opening {
        guard let connection, isOnCourse else { return .refused }
        if !connection.isHandedOver { return .handOver(connection) }
        let awaitsProxy = !connection.isUsed && request.options.values.proxy?.awaitsChallenge == true
        if incoming.provisionalChallenge != nil || awaitsProxy { return .again(connection) }
        let isFull = connection.isMultiplexed && !connection.isClosed && connection.users > 1
        reject(isFull ? .fullConnection : .lostConnection)
        return .refused
    }

    /// True if libcurl looks for a connection to send the request a second time, though it answers no challenge.
    var isRepeatedByEngine: Bool { readyCount > 0 && incoming.provisionalChallenge == nil && isOnCourse }

    /// What libcurl may do that asks for leave to send.
    enum Leave {
        /// It may go on to choose the connection.
        case granted
        /// The same, and what has been is an attempt of its own to the figures: libcurl repeats the request by itself.
        case grantedAgain
        case refused
        case refusedAgain

        var isGranted: Bool { self == .granted || self == .grantedAgain }
        var isRepetition: Bool { self == .grantedAgain || self == .refusedAgain }
    }

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
        guard candidate.isChosen else { return rejected(.lostConnection) }
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

    /// What is to be done when a line of a head has come.
    enum LineAction {
        case nothing
        case interim(HTTPResponse)
        /// The final head: it is to be published once the effects are done.
        case head(HTTPResponse, HeadEffects)
        /// The same, but libcurl may answer it.
        case challenge(HTTPResponse, HeadEffects)
        /// The engine is to stop; ``failure`` or ``rejection`` says why.
        case stop
    }

    /// What a head asks of the engine.
    struct HeadEffects: OptionSet {
        let rawValue: UInt8
        /// The connection is to be closed after the exchange.
        static let closesConnection = HeadEffects(rawValue: 1)
        /// The raw bytes of the body are to be looked at.
        static let showsRawBody = HeadEffects(rawValue: 2)
    }

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
        if incoming.framing.isChunked, Engine.showsRawBody { all.insert(.showsRawBody) }
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

    /// True if a connection that was to be closed, as the answer came before the body, may be kept after all: both
    /// directions are in order again.
    var isInOrderAgain: Bool {
        outgoing.isSent && incoming.head != nil && request.engineCredential == nil && !incoming.framing.isAmbiguous
            && !request.closesConnection
    }

    /// True if the answer may have ended before the request, so that the end of the request ends the stream.
    var mayEndByRequest: Bool { outgoing.isSent && incoming.head != nil && incoming.version == .http2 }

    /// True if nothing is left to be sent, and the final head has not begun to come.
    var awaitsHead: Bool { outgoing.isSent && stage == .exchanging && incoming.provisionalChallenge == nil }

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

    // MARK: HTTP/2 answers before the end of the request

    /// The time without a byte either way after which the request's body is looked at, once the response is there. If nothing of
    /// it leaves for as long again, it counts as unwanted.
    static let earlyAnswerPatience: Int64 = 500_000_000

    /// True if an HTTP/2 response came, or may have come, before the request was sent.
    var isAnsweredEarly: Bool {
        request.hasBody && incoming.version == .http2 && incoming.head != nil && incoming.provisionalChallenge == nil
    }

    /// True if nothing more of the response is to be expected, though the request was not sent. A server may read on all the same
    /// unless it reports a failure, so a body that is still being made is waited for.
    var isOverEarly: Bool {
        guard isAnsweredEarly, pauses.isDisjoint(with: [.reader, .suspended, .sendingRate, .receivingRate]) else {
            return false
        }
        if incoming.status >= 300 {
            return incoming.isBodyWhole(method: request.method) || incoming.framing.contentLength == nil
        }
        return !pauses.contains(.body) && incoming.isBodyWhole(method: request.method)
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
        guard let rejection, self.failure == nil, plan.number < Self.limit else { return false }
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
