internal import CLibcurl
internal import COpenSSL
internal import Glibc
internal import HTTPTypes

extension Transfer {
    /// Tells the observer what is new; called by the multi handle when the engine has done a step.
    func deliver() {
        endFilling()
        // The body first, so that a reader woken by the head finds all of it.
        if let outcome { channel.finish(outcome) }
        observer?.transferAdvanced(self)
        if outcome != nil { observer = nil }
    }

    /// Ends the exchange from our side: by a timer, a cancellation, or the end of the session. Not from a callback.
    func fail(_ error: CurlewError) {
        guard outcome == nil else { return }
        settle(.failure(error))
    }

    /// The engine is done with the attempt.
    func engineFinished(_ result: CURLcode) {
        guard outcome == nil, let easy else { return }
        if refusal == nil { refusal = ownRefusal(of: result, easy) }
        if let refusal, mayRepeat(after: refusal) {
            repeatAttempt(after: refusal)
            return
        }
        if result == CURLE_OK { publishHeldHead() }
        if let error = failure ?? verdict(on: result, easy) {
            settle(.failure(error))
        } else {
            if trailers.isEmpty { trailers = parser.takeFields() }
            settle(.success(trailers))
        }
    }

    /// Ends the exchange once: takes it from the engine and notes how it went.
    func settle(_ result: Result<HTTPFields, CurlewError>) {
        guard outcome == nil else { return }
        leaveEngine()
        if case .failure(let error) = result {
            noteSilence(error.code)
            multi.noteDropped(on: connection)
        }
        multi.core.timers.remove(self)
        pace?.release()
        pace = nil
        if case .channel(let channel) = source { channel.close() }
        // The channel knows the transfer, to wake it.
        source = .none
        outcome = result.mapError { $0.adding(context) }
        multi.touch(self)
    }

    private func leaveEngine() {
        guard let easy else { return }
        if refusal != .connectionKind { attempts.append(measure(easy)) }
        if Engine.remembersErrors, stage == .connecting || (!isReused && easy.long(CURLINFO_OS_ERRNO) != 0) {
            easy.isSpent = true
        }
        endFirstAnswer()
        self.easy = nil
        multi.end(self, easy)
    }

    /// What an error should tell of the exchange.
    var context: CurlewError.Context {
        CurlewError.Context(
            method: request.method, uri: request.uri, stage: stage, response: head, bodyPrefix: bodyPrefix)
    }

    /// Notes that the connection has brought nothing while the exchange waited: it may have died without a word, which HTTP/2
    /// has no other sign of, and shall not take the requests along that follow.
    private func noteSilence(_ code: ErrorCode) {
        guard let connection, connection.isMultiplexed, holds.isEmpty, stage == .exchanging || stage == .receiving
        else { return }
        let waited = lastActivity.duration(to: multi.core.now)
        switch code {
        case .idleTimeout, .totalTimeout: break
        // Callers have time limits of their own, and also cancel for other reasons.
        case .cancelled where waited >= .seconds(1): break
        default: return
        }
        if connection.lastInput.duration(to: multi.core.now) * 2 >= waited { connection.isSilent = true }
    }

    // MARK: Again

    /// Why an attempt that libcurl has ended is no exchange of the request's.
    private func ownRefusal(of result: CURLcode, _ easy: EasyHandle) -> Refusal? {
        guard failure == nil else { return nil }
        switch result {
        case CURLE_COULDNT_CONNECT where Self.isLackOfDescriptors(connectError(easy)) && attempt.number < 4:
            return multi.makeRoom() ? .noDescriptor : nil
        // libcurl 7.88 cannot go on with a preface or a stream that it could not send at once, and has no words for it, as it
        // has for what the peer does.
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_ERROR:
            guard !Engine.resumesStreams, attempt.number < 4, easy.errorText.isEmpty else { return nil }
            return parser.hasBegun ? nil : .brokenStream
        default: return nil
        }
    }

    private static func isLackOfDescriptors(_ error: Int32) -> Bool { error == EMFILE || error == ENFILE }

    /// Whether the request may go out once more after an attempt that was refused, or that died on a kept connection.
    private func mayRepeat(after refusal: Refusal) -> Bool {
        guard failure == nil, attempt.number < 6 else { return false }
        switch refusal {
        case .strayInput, .expectation, .misdirected, .connectionKind, .forbiddenAddress, .otherProxy:
            // Nothing was sent that could have been acted on.
            return !hasSource || request.body.isReplayable
        case .noDescriptor: return true
        case .resend, .unaskedAnswer, .brokenStream:
            guard request.isIdempotent, head == nil, !parser.hasBegun else { return false }
            return !hasSource || request.body.isReplayable
        }
    }

    private func repeatAttempt(after refusal: Refusal) {
        attempt.number += 1
        if refusal != .noDescriptor, refusal != .connectionKind { attempt.isFresh = true }
        if refusal == .expectation { attempt.isUnexpecting = true }
        if refusal == .connectionKind {
            attempt.joinsHTTP2 = isReused
            if !isReused { multi.joinable.remove(request.uri.authority) }
        }
        if case .channel(let channel) = source { channel.close() }
        leaveEngine()
        source = .none
        hasSource = false
        sentBody = 0
        isBodySent = false
        self.refusal = nil
        readyCount = 0
        mayBeUnasked = false
        handshake = nil
        forbidden = nil
        hasTriedAddress = false
        heldHead = nil
        connection = nil
        holds.formIntersection(.suspended)
        parser = HeadParser(limits: request.limits, names: multi.names, memory: multi.heads)
        chunkFraming = nil
        beginAttempt()
    }

    // MARK: What libcurl's answer means

    private func verdict(on result: CURLcode, _ easy: EasyHandle) -> CurlewError? {
        if result == CURLE_OK { return verdictOnSuccess() }
        if isWhole { return nil }
        var context = CurlewError.Context()
        context.engineCode = Int(result.rawValue)
        let text = easy.errorText
        let isLost = ErrorCode(result) == .connectionLost && refusal == nil && !parser.hasBegun
        if let error = easy.handshake?.failure(engineText: text, isLost: isLost) { return error.adding(context) }
        let words = text.isEmpty ? String(cString: curl_easy_strerror(result)) : text
        if let error = addressVerdict(on: result, context) ?? proxyVerdict(on: result, words, easy, context) {
            return error
        }
        return CurlewError(code(for: result, easy), sentence(for: result, words, easy), context: context)
    }

    /// Whether the answer was complete before the attempt failed, as when a server answers, and then resets the stream
    /// or the connection that a request body is still going out on.
    private var isWhole: Bool {
        guard head != nil, request.hasBody, !isBodySent else { return false }
        return parser.framing.contentLength == receivedBody
    }

    private func verdictOnSuccess() -> CurlewError? {
        guard parser.isComplete else {
            let message =
                parser.hasBegun ? "the connection ended inside the head" : "the connection ended without an answer"
            return CurlewError(.connectionLost, message)
        }
        if endsWithConnection, let handshake, !handshake.isClosedByPeer {
            return CurlewError(
                .responseTruncated,
                "the connection ended without the close_notify of TLS, and the body has no other end")
        }
        return nil
    }

    /// Whether nothing but the end of the connection tells where the body ends (RFC 9112 §6.3). libcurl before 8.0 takes an
    /// end of TLS that anybody on the way may have made for the server's.
    private var endsWithConnection: Bool {
        parser.version != .http2 && request.method != .head && ![204, 304].contains(parser.status)
            && parser.framing.contentLength == nil && !parser.framing.isChunked
    }

    private func code(for result: CURLcode, _ easy: EasyHandle) -> ErrorCode {
        if refusal == .noDescriptor { return .resourcesExhausted }
        if refusal != nil { return .connectionLost }
        switch result {
        case CURLE_COULDNT_CONNECT:
            return switch connectError(easy) {
            case ECONNREFUSED: .connectionRefused
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: .resourcesExhausted
            default: .connectionFailed
            }
        // TLS that ends without close_notify; libcurl before 8 takes it for the end of the connection.
        case CURLE_RECV_ERROR where head != nil && easy.errorText.contains("unexpected eof"): return .responseTruncated
        // Its decoding of contents is off, so these are transfer codings.
        case CURLE_BAD_CONTENT_ENCODING: return .invalidResponse
        // An HTTP/2 connection that ends before there is anything of a response to be cut short.
        case CURLE_PARTIAL_FILE where stage == .exchanging: return .connectionLost
        case CURLE_UNSUPPORTED_PROTOCOL where stage != .preparing && stage != .connecting: return .invalidResponse
        case CURLE_OUT_OF_MEMORY where stage == .exchanging && parser.hasBegun, Self.tooLarge:
            return .responseHeadTooLarge
        case CURLE_RECV_ERROR where head == nil && easy.errorText.contains("Too large response headers"):
            return .responseHeadTooLarge
        case CURLE_RECV_ERROR where head != nil && easy.errorText.contains("chunk"): return .invalidResponse
        case CURLE_WRITE_ERROR where head == nil, CURLE_WEIRD_SERVER_REPLY: return .invalidResponse
        case CURLE_HTTP2 where head == nil && stage == .connecting: return .http2Failed
        default:
            let known = ErrorCode(result)
            // What libcurl's own reading of an answer ends with has no code that would be worth telling apart.
            return known == .engineFailed && parser.hasBegun ? .invalidResponse : known
        }
    }

    private func sentence(for result: CURLcode, _ words: String, _ easy: EasyHandle) -> String {
        switch refusal {
        case .resend:
            return request.isIdempotent
                ? "the connection ended before the answer, and the body cannot be sent again"
                : "the kept connection ended before the answer; a \(request.method) is not sent a second time"
        case .strayInput: return "a kept connection was out of step, and the body cannot be sent again"
        case .unaskedAnswer:
            return request.isIdempotent
                ? "an answer came before its request, and the body cannot be sent again"
                : "an answer came before its request; a \(request.method) is not sent a second time"
        case .brokenStream: return "the stream broke, and the request cannot be sent again"
        case .noDescriptor: return connectSentence(easy)
        case .expectation: return "the server refused the expectation, and the body cannot be sent again"
        case .misdirected, .connectionKind, .forbiddenAddress, .otherProxy:
            return "no connection of the right kind was found"
        case nil where result == CURLE_BAD_FUNCTION_ARGUMENT && parser.hasBegun: return "the first field line is folded"
        case nil: return result == CURLE_COULDNT_CONNECT ? connectSentence(easy) : words
        }
    }

    /// libcurl's own words hold a time, so that no two are the same, and seldom the reason.
    private func connectSentence(_ easy: EasyHandle) -> String {
        let socket = request.options.values.route.unixSocket
        let place = socket.map { "the socket \($0)" } ?? "\(request.uri.host):\(request.uri.port)"
        return connectSentence(easy, to: place)
    }

    func connectSentence(_ easy: EasyHandle, to place: String) -> String {
        let reason = connectError(easy)
        guard reason != 0 else { return "could not connect to \(place)" }
        let words = describe(reason)
        return "could not connect to \(place): \(words.prefix(1).lowercased())\(words.dropFirst())"
    }

    /// The system's error that kept a connection from being made; 0 if it is not known.
    private func connectError(_ easy: EasyHandle) -> Int32 {
        let noted = Int32(truncatingIfNeeded: easy.long(CURLINFO_OS_ERRNO))
        return noted == 0 ? multi.socketError : noted
    }

    /// `CURLE_TOO_LARGE`, which 7.88's header does not know yet.
    static let tooLarge = CURLcode(rawValue: 100)
}
