internal import CLibcurl
internal import Glibc

/// The result of an attempt that libcurl has ended with an error.
struct EngineFailure {
    let code: CURLcode
    /// Its words; empty if it has none.
    var text = ""
    /// The system's error that kept a connection from being made; 0 if it is not known.
    var systemError: Int32 = 0
    /// The status of the proxy's answer to CONNECT; 0 if there was none.
    var tunnelStatus = 0
    /// What a SOCKS proxy replied.
    var proxyReply = CURLPX_OK
    /// True if something came over the connection that was being made.
    var hasProxyAnswered = false
    /// The TLS connection that was begun for the attempt.
    var handshake: Handshake?
    /// True if a GOAWAY was read from the attempt's HTTP/2 connection, and the server has not ended that, or had not when libcurl
    /// closed it.
    var isAfterGoAway = false

    init(_ code: CURLcode) { self.code = code }

    /// True if libcurl has broken the stream: before 8.0 it cannot resume a preface or a stream that it could not send
    /// at once, and has no words for it, as it has for what the peer does.
    var isBrokenStream: Bool {
        guard !Engine.resumesStreams, text.isEmpty else { return false }
        return code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_SEND_ERROR
    }

    /// True if the server has not processed the request, as its GOAWAY says (RFC 9113 §6.8). libcurl then has no words, as it has
    /// none for some errors of the connection, after which nobody knows.
    var isGoAway: Bool { code == CURLE_HTTP2 && text.isEmpty && isAfterGoAway }

    /// libcurl's own words, or its general ones for the code.
    var words: String { text.isEmpty ? String(cString: curl_easy_strerror(code)) : text }

    /// That there was no connection. libcurl's own words hold a time, so that no two are the same, and seldom the reason.
    func connectSentence(to place: String) -> String { Self.connectSentence(to: place, systemError) }

    static func connectSentence(to place: String, _ systemError: Int32) -> String {
        guard systemError != 0 else { return "could not connect to \(place)" }
        let words = describe(systemError)
        return "could not connect to \(place): \(words.prefix(1).lowercased())\(words.dropFirst())"
    }
}

/// The error of an attempt, from what libcurl says and from what was seen of it; libcurl takes much for success that is none.
///
/// Pure: it asks neither libcurl nor the system. The article Architecture has the table "What libcurl does, and what we do".
struct EngineVerdict {
    private let request: PreparedRequest

    init(_ request: PreparedRequest) { self.request = request }

    /// - Parameter failure: nil if libcurl takes the attempt for a success.
    /// - Returns: nil if the response is whole.
    func error(in attempt: borrowing Attempt, after failure: EngineFailure?) -> CurlewError? {
        guard let failure else { return errorOfSuccess(attempt) }
        if isWhole(attempt, after: failure) { return nil }
        var context = CurlewError.Context()
        context.engineCode = Int(failure.code.rawValue)
        return error(attempt, failure).adding(context)
    }

    private func error(_ attempt: borrowing Attempt, _ failure: EngineFailure) -> CurlewError {
        let isLost =
            ErrorCode(failure.code) == .connectionLost && attempt.rejection == nil && !attempt.incoming.hasBegun
        if let error = failure.handshake?.failure(engineText: failure.text, isLost: isLost) { return error }
        if let error = ProxyVerdict(request)?.error(in: attempt, after: failure) { return error }
        return CurlewError(code(attempt, failure), sentence(attempt, failure))
    }

    /// True if the answer was complete before the attempt failed, as when a server answers, and then resets the stream
    /// or the connection that a request body is still going out on. From 8.2 on libcurl also fails when the end of the
    /// request, which it then has been given, ends an HTTP/2 stream whose answer has ended before.
    private func isWhole(_ attempt: borrowing Attempt, after failure: EngineFailure) -> Bool {
        guard request.hasBody, !attempt.outgoing.isSent || failure.code == CURLE_SEND_ERROR else { return false }
        return attempt.isAnswered || attempt.incoming.isBodyWhole(method: request.method)
    }

    private func errorOfSuccess(_ attempt: borrowing Attempt) -> CurlewError? {
        guard attempt.incoming.isHeadComplete else {
            let message =
                attempt.incoming.hasBegun
                ? "the connection ended inside the head" : "the connection ended without an answer"
            return CurlewError(.connectionLost, message)
        }
        // libcurl before 8.0 takes an end of TLS that anybody on the way may have made for the server's.
        if attempt.incoming.endsWithConnection(method: request.method), let handshake = attempt.handshake,
            !handshake.isClosedByPeer
        {
            return CurlewError(
                .responseTruncated,
                "the connection ended without the close_notify of TLS, and the body has no other end")
        }
        return nil
    }

    private func code(_ attempt: borrowing Attempt, _ failure: EngineFailure) -> ErrorCode {
        if attempt.rejection != nil { return .connectionLost }
        let incoming = attempt.incoming
        let stage = attempt.stage
        switch failure.code {
        case CURLE_COULDNT_CONNECT:
            return switch failure.systemError {
            case ECONNREFUSED: .connectionRefused
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: .resourcesExhausted
            default: .connectionFailed
            }
        // TLS that ends without close_notify; libcurl before 8 takes it for the end of the connection. With HTTP/2 it may have
        // a frame to send when it finds out.
        case CURLE_RECV_ERROR where incoming.head != nil && isTruncated(failure),
            CURLE_SEND_ERROR where incoming.head != nil && isTruncated(failure):
            return .responseTruncated
        // Its decoding of contents is off, so these are transfer codings.
        case CURLE_BAD_CONTENT_ENCODING: return .invalidResponse
        // An HTTP/2 connection that ends before there is anything of a response to be cut short.
        case CURLE_PARTIAL_FILE where stage == .exchanging: return .connectionLost
        case CURLE_UNSUPPORTED_PROTOCOL where stage != .preparing && stage != .connecting: return .invalidResponse
        case CURLE_OUT_OF_MEMORY where stage == .exchanging && incoming.hasBegun, Self.tooLarge:
            return .responseHeadTooLarge
        case CURLE_RECV_ERROR where incoming.head == nil && failure.text.contains("Too large response headers"):
            return .responseHeadTooLarge
        case CURLE_RECV_ERROR where incoming.head != nil && failure.text.contains("chunk"): return .invalidResponse
        case CURLE_WRITE_ERROR where incoming.head == nil, CURLE_WEIRD_SERVER_REPLY: return .invalidResponse
        case CURLE_HTTP2 where incoming.head == nil && stage == .connecting: return .http2Failed
        default:
            let known = ErrorCode(failure.code)
            // What libcurl's own reading of an answer ends with has no code that would be worth telling apart.
            return known == .engineFailed && incoming.hasBegun ? .invalidResponse : known
        }
    }

    private func isTruncated(_ failure: EngineFailure) -> Bool { failure.text.contains("unexpected eof") }

    private func sentence(_ attempt: borrowing Attempt, _ failure: EngineFailure) -> String {
        switch attempt.rejection {
        case .resend:
            return request.isIdempotent
                ? "the connection ended before the answer, and the body cannot be sent again"
                : "the kept connection ended before the answer; a \(request.method) is not sent a second time"
        case .unsent: return "the kept connection ended before the request left, and the body cannot be sent again"
        case .refusedStream: return "the server refused the stream, and the request cannot be sent again"
        case .http11Required: return "the server requires HTTP/1.1, and the request cannot be sent again"
        case .heldBack: return "the connection permits no stream, and the body cannot be sent again"
        case .strayInput: return "a kept connection was out of step, and the body cannot be sent again"
        case .unaskedAnswer:
            return request.isIdempotent
                ? "an answer came before its request, and the body cannot be sent again"
                : "an answer came before its request; a \(request.method) is not sent a second time"
        case .brokenStream: return "the stream broke, and the request cannot be sent again"
        case .expectation: return "the server refused the expectation, and the body cannot be sent again"
        case .misdirected, .lostConnection, .fullConnection:
            return "no connection of the right kind was found"
        case nil where failure.code == CURLE_BAD_FUNCTION_ARGUMENT && attempt.incoming.hasBegun:
            return "the first field line is folded"
        case nil where failure.code == CURLE_OPERATION_TIMEDOUT && attempt.stage == .connecting:
            return "no connection to \(place) within \(request.timeouts.connect)"
        case nil: return failure.code == CURLE_COULDNT_CONNECT ? failure.connectSentence(to: place) : failure.words
        }
    }

    private var place: String { request.place }

    /// `CURLE_TOO_LARGE`, which 7.88's header does not know yet.
    fileprivate static let tooLarge = CURLcode(rawValue: 100)
}

/// The error of an attempt that a proxy has failed, or that could not reach its proxy.
private struct ProxyVerdict {
    private let request: PreparedRequest
    private let proxy: Proxy
    private var place: String { "the proxy \(proxy.host):\(proxy.port)" }

    /// - Returns: nil if the request goes through no proxy.
    init?(_ request: PreparedRequest) {
        guard let proxy = request.options.values.proxy else { return nil }
        self.request = request
        self.proxy = proxy
    }

    /// - Returns: nil if it was not the proxy.
    func error(in attempt: borrowing Attempt, after failure: EngineFailure) -> CurlewError? {
        guard attempt.stage == .connecting, attempt.rejection == nil else { return nil }
        let cause = CurlewError(ErrorCode(failure.code), failure.words)
        func error(_ code: ErrorCode, _ message: String) -> CurlewError {
            CurlewError(code, message, underlying: cause)
        }
        switch failure.code {
        case CURLE_COULDNT_RESOLVE_PROXY: return error(.proxyNotFound, "no address was found for \(place)")
        case CURLE_COULDNT_CONNECT: return error(.proxyFailed, failure.connectSentence(to: place))
        case CURLE_PROXY: return socksError(failure.proxyReply, error)
        case CURLE_OPERATION_TIMEDOUT: return error(.connectTimeout, timeoutSentence(failure))
        default: break
        }
        let status = failure.tunnelStatus
        let isTunnelled = (200...299).contains(status)
        if status == 407 {
            return error(.proxyAuthenticationRequired, "\(place) wants credentials, or others than these")
        }
        if status > 0, !isTunnelled { return error(.proxyFailed, "\(place) answered CONNECT with \(status)") }
        let isOfProxy =
            Self.isBreak(failure.code) || (proxy.scheme == .https && !isTunnelled && Self.isOfTLS(failure.code))
        return isOfProxy ? error(.proxyFailed, "\(place) broke off: \(failure.words)") : nil
    }

    /// libcurl waits for ten bytes of a SOCKS 5 reply, though one with a short name has fewer (RFC 1928 §6).
    private func timeoutSentence(_ failure: EngineFailure) -> String {
        let time = request.timeouts.connect
        guard failure.hasProxyAnswered else { return "no connection through \(place) within \(time)" }
        let isSOCKS5 = proxy.scheme == .socks5 || proxy.scheme == .socks5h
        let hint = isSOCKS5 ? ", or its SOCKS reply has fewer than the ten bytes that libcurl reads" : ""
        return "\(place) answered, but no connection was ready within \(time): it is slow\(hint)"
    }

    private func socksError(_ reply: CURLproxycode, _ error: (ErrorCode, String) -> CurlewError) -> CurlewError {
        switch reply {
        case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER:
            return error(.proxyAuthenticationRequired, "\(place) wants credentials, or others than these")
        case CURLPX_RESOLVE_HOST:
            return error(.hostNotFound, "no address was found for \(request.uri.host), to ask \(place) for")
        default:
            let words = Self.socksReplies[reply.rawValue].map { ": \($0)" } ?? ""
            return error(.proxyFailed, "\(place) did not connect to the target\(words)")
        }
    }

    /// What SOCKS 5 proxies reply (RFC 1928 §6), and SOCKS 4 ones.
    private static let socksReplies: [UInt32: String] = [
        CURLPX_REPLY_GENERAL_SERVER_FAILURE.rawValue: "general failure",
        CURLPX_REPLY_NOT_ALLOWED.rawValue: "not allowed by its rules",
        CURLPX_REPLY_NETWORK_UNREACHABLE.rawValue: "network unreachable",
        CURLPX_REPLY_HOST_UNREACHABLE.rawValue: "host unreachable",
        CURLPX_REPLY_CONNECTION_REFUSED.rawValue: "connection refused",
        CURLPX_REPLY_TTL_EXPIRED.rawValue: "time to live expired",
        CURLPX_REPLY_COMMAND_NOT_SUPPORTED.rawValue: "it does not take CONNECT",
        CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED.rawValue: "it does not take this kind of address",
        CURLPX_REQUEST_FAILED.rawValue: "request rejected or failed",
        CURLPX_CLOSED.rawValue: "it closed the connection",
        CURLPX_BAD_VERSION.rawValue: "it speaks another version",
    ]

    /// True if bytes were missing or wrong, where until then only the proxy could have sent any.
    private static func isBreak(_ result: CURLcode) -> Bool {
        switch result {
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_OUT_OF_MEMORY, CURLE_WEIRD_SERVER_REPLY,
            CURLE_AGAIN, CURLE_PARTIAL_FILE, EngineVerdict.tooLarge:
            true
        default: false
        }
    }

    private static func isOfTLS(_ result: CURLcode) -> Bool {
        result == CURLE_SSL_CONNECT_ERROR || result == CURLE_PEER_FAILED_VERIFICATION
    }
}
