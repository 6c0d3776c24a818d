internal import CLibcurl
internal import HTTPTypes

/// Who is told of a transfer's news, on the loop.
protocol TransferObserver: AnyObject, Sendable {
    /// Something is new: interim responses, the head, the counts, or the end.
    func transferAdvanced(_ transfer: Transfer)
    /// A fresh source for the body of the next attempt; nil if the body cannot be read again.
    func bodySource(for transfer: Transfer) -> UploadSource?
}

/// What the engine reads a request's body from.
enum UploadSource {
    case none
    case bytes([UInt8])
    case channel(UploadChannel)
}

/// One exchange as it runs on the engine: it answers libcurl's callbacks, keeps the timers, and checks what libcurl
/// takes for granted. Its files: `Transfer+Sending`, `Transfer+Receiving`, `Transfer+Ending`.
///
/// `@unchecked Sendable`: it is made on the caller's side and from `begin` on touched on its loop's thread alone.
/// For the same reason the properties that every request touches go without dynamic checks of exclusive access, here and
/// in the other types of the loop; those checks were a twentieth of a small request.
final class Transfer: LoopTimer, @unchecked Sendable {
    let request: PreparedRequest
    let channel: BodyChannel
    let multi: MultiHandle
    /// Kept until the end, so that what runs is not dropped under way.
    var observer: (any TransferObserver)?

    // Where the transfer stands in its multi handle's lists.
    var position = -1
    var isTouched = false

    var easy: EasyHandle?
    var stage = CurlewError.Stage.preparing
    var totalDeadline = Instant.distantFuture
    var lastActivity = Instant(nanoseconds: 0)

    // What the peer has sent.
    @exclusivity(unchecked) var parser: HeadParser
    @exclusivity(unchecked) var chunkFraming: ChunkFraming?
    @exclusivity(unchecked) var head: HTTPResponse?
    var interim: [HTTPResponse] = []
    var interimCount = 0
    var trailers = HTTPFields()
    @exclusivity(unchecked) var filling: [UInt8] = []
    /// The room that the next chunk of the body is given beyond what comes first.
    @exclusivity(unchecked) var fillingSize = 0
    var bodyPrefix: [UInt8] = []
    var receivedBody: Int64 = 0
    var connection: Connection?
    var isReused = false
    var isHTTP2Agreed = false
    /// Whether it is to be asked, when the first byte of an answer comes, if the peer can have had the request.
    var mayBeUnasked = false
    /// When the first answer of a new HTTP/2 connection counts as slow; see `Transfer+FirstAnswer`.
    @exclusivity(unchecked) var firstAnswerDeadline: Instant?
    var isFirstAnswerSlow = false

    // What was sent.
    @exclusivity(unchecked) var source = UploadSource.none
    var hasSource = false
    var sentBody: Int64 = 0
    var isBodySent = false

    /// What is held back: by the reader, by the lack of a body to send, by the user, or by a limit of rate.
    struct Holds: OptionSet {
        let rawValue: UInt8
        static let reader = Holds(rawValue: 1)
        static let body = Holds(rawValue: 2)
        static let suspended = Holds(rawValue: 4)
        static let sendingRate = Holds(rawValue: 8)
        static let receivingRate = Holds(rawValue: 16)
    }
    var holds: Holds = []
    /// What keeps it to its limits of rate; nil if it has none.
    @exclusivity(unchecked) var pace: Pace?
    /// Whether somebody has the response.
    var isClaimed = false {
        didSet { rearm() }
    }

    // How attempts ended.
    /// Set in a callback that must fail the attempt; it wins over what libcurl makes of it.
    var failure: CurlewError?
    var refusal: Refusal?
    /// What the address policy refused in this attempt, and whether any other address was tried.
    var forbidden: String?
    var hasTriedAddress = false
    /// A head with a challenge that libcurl may answer by itself; see `Transfer+Challenges`.
    @exclusivity(unchecked) var heldHead: HTTPResponse?
    var challengeCount = 0
    var readyCount = 0
    var attempt = Attempt()
    @exclusivity(unchecked) var attempts: [AttemptMetrics] = []
    var queued = Duration.zero
    /// How the connection in use came to be; nil without TLS.
    var handshake: Handshake?
    /// What TLS agreed on; nil without it, and as long as there is no connection.
    @exclusivity(unchecked) var security: ConnectionSecurity?
    @exclusivity(unchecked) var outcome: Result<HTTPFields, CurlewError>?

    /// How one attempt differs from the others of its exchange.
    struct Attempt {
        var number = 1
        /// On a new connection.
        var isFresh = false
        /// Without the expectation that the server refused.
        var isUnexpecting = false
        /// On an open cleartext HTTP/2 connection, and no other.
        var joinsHTTP2 = false
    }

    /// libcurl before 8.0 starts HTTP/2 anew on a cleartext connection that speaks it already, and fails, if it is told
    /// that the server has prior knowledge. So the first request is sent so, and later ones ask for HTTP/2 in general.
    static let mustJoinHTTP2 = Engine.versionNumber < 0x080000

    /// Why an attempt was given up before anything was sent on its connection.
    enum Refusal {
        /// The kept connection had bytes or an end waiting.
        case strayInput
        /// libcurl wants to send the request a second time.
        case resend
        /// The server refused the expectation; the body has not left.
        case expectation
        /// The server says that the connection does not lead to whoever answers for the URI (421, RFC 9110 §15.5.20).
        case misdirected
        /// The connection is a new one where an open one was to be joined, or the reverse.
        case connectionKind
        /// The kept connection goes to an address that this request's policy forbids.
        case forbiddenAddress
        /// The kept connection was let through a proxy with other credentials.
        case otherProxy
        /// An answer came over the kept connection before its server had a byte of the request.
        case unaskedAnswer
        /// libcurl has broken the request's stream, and nothing of an answer had come.
        case brokenStream
        /// There was no descriptor for a socket; idle connections have made room since.
        case noDescriptor
    }

    init(request: PreparedRequest, channel: BodyChannel, multi: MultiHandle, observer: any TransferObserver) {
        self.request = request
        self.channel = channel
        self.multi = multi
        self.observer = observer
        parser = HeadParser(limits: request.limits, names: multi.names, memory: multi.heads)
        attempt.isFresh = request.isHandshakeOnly
    }

    /// Begins the exchange. What fails here is told to the observer as any other end.
    func begin() {
        guard outcome == nil else { return }
        beginAttempt()
    }

    /// Not yet begun, as the user holds it; its total limit runs.
    func waitForRelease() { multi.core.timers.set(self, to: totalDeadline) }

    func beginAttempt() {
        stage = .connecting
        // libcurl does not ask for a body without bytes.
        isBodySent = request.hasBody && request.contentLength == 0
        do {
            try multi.begin(self)
            multi.core.timers.set(self, to: totalDeadline)
        } catch {
            settle(.failure(error as? CurlewError ?? CurlewError(.engineFailed, "\(error)")))
        }
    }

    /// Sets up the handle for one attempt.
    func configure(_ easy: EasyHandle) throws {
        self.easy = easy
        do {
            if request.version == .http2PriorKnowledge, Self.mustJoinHTTP2 {
                attempt.joinsHTTP2 = attempt.joinsHTTP2 || multi.joinable.contains(request.uri.authority)
            }
            try easy.prepare(request, attempt)
            try easy.waitToJoin(!multi.slowOrigins.contains(request.uri.authority))
        } catch {
            self.easy = nil
            throw error
        }
    }

    // MARK: Time

    /// Called with every byte either way.
    func noteActivity() { lastActivity = multi.core.now }

    /// A moment to look at the clocks: the nearest of the total and the idle deadline.
    override func fire() {
        let now = multi.core.now
        if totalDeadline <= now {
            return fail(CurlewError(.totalTimeout, "not finished within \(request.timeouts.total)"))
        }
        let idleDeadline = currentIdleDeadline
        if idleDeadline <= now {
            return fail(CurlewError(.idleTimeout, "no byte either way for \(request.timeouts.idle)"))
        }
        if let slow = firstAnswerDeadline, slow <= now { firstAnswerIsSlow() }
        multi.core.timers.set(self, to: nearestDeadline)
    }

    /// The idle clock stands still until a connection is there, and while the reader, the user or a limit of rate holds the
    /// bytes back.
    private var currentIdleDeadline: Instant {
        let isExchanging = stage == .exchanging || stage == .receiving
        // A body that nobody has asked for has no reader to wait for.
        var exempting: Holds = [.suspended, .sendingRate, .receivingRate]
        if isClaimed { exempting.insert(.reader) }
        guard isExchanging, holds.isDisjoint(with: exempting) else { return .distantFuture }
        return lastActivity.advanced(by: request.idleLimit)
    }

    private var nearestDeadline: Instant {
        min(totalDeadline, currentIdleDeadline, firstAnswerDeadline ?? .distantFuture)
    }

    /// Sees to it that the timer fires at the nearest deadline. One that is set for an earlier moment is left alone: it
    /// looks at the clocks anew when it fires, and moving it with every step would be for nothing.
    func rearm() {
        guard position >= 0 else { return }
        let nearest = nearestDeadline
        if nearest < deadline { multi.core.timers.set(self, to: nearest) }
    }

    // MARK: Holding back

    /// Stops or restarts the bytes in both directions for the user.
    func setSuspended(_ isSuspended: Bool) {
        // On resuming, what else held back is asked again: the callbacks find out whether it still does.
        if isSuspended { holds.insert(.suspended) } else { holds = [] }
        applyHolds()
    }

    /// The reader has made room.
    func readerMadeRoom() { release(.reader) }

    /// There is something to send again.
    func bodyArrived() { release(.body) }

    /// Something holds back no more.
    func release(_ hold: Holds) {
        guard !holds.isDisjoint(with: hold) else { return }
        holds.subtract(hold)
        applyHolds()
    }

    private func applyHolds() {
        guard position >= 0, let easy else { return }
        lastActivity = multi.core.now
        var mask: Int32 = 0
        if !holds.isDisjoint(with: [.reader, .suspended, .receivingRate]) { mask |= CURLPAUSE_RECV }
        if !holds.isDisjoint(with: [.body, .suspended, .sendingRate]) { mask |= CURLPAUSE_SEND }
        rearm()
        multi.haveNews()
        // Letting go delivers what libcurl had kept, and so may end in one of our refusals.
        let result = curl_easy_pause(easy.raw, mask)
        if result != CURLE_OK, result != CURLE_BAD_FUNCTION_ARGUMENT {
            fail(failure ?? CurlewError(ErrorCode(result), String(cString: curl_easy_strerror(result))))
        }
    }
}
