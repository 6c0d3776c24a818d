internal import CLibcurl
internal import CurlewPlatform

/// The result of an attempt that libcurl has ended with an error.
struct EngineFailure {
    let code: CURLcode
    /// libcurl's error text; empty if it has none.
    var text = ""
    /// The system error that prevented a connection; 0 if it is unknown.
    var systemError: Int32 = 0
    /// The status of the proxy's response to CONNECT; 0 without one.
    var tunnelStatus = 0
    /// The reply code of a SOCKS proxy.
    var proxyReply = CURLPX_OK
    /// True if bytes arrived over the connection before it was ready.
    var hasProxyAnswered = false
    /// The TLS connection of the attempt; nil if none was begun.
    var handshake: Handshake?
    /// True if libcurl has read a GOAWAY from the attempt's HTTP/2 connection, and the server had not ended the
    /// connection before libcurl closed it.
    var isAfterGoAway = false

    init(_ code: CURLcode) { self.code = code }

    /// True if libcurl has broken the stream. Before 8.0 it cannot resume a preface or a stream that it could not send
    /// at once. It then has no error text, in contrast to errors of the peer.
    var isBrokenStream: Bool {
        guard Engine.stallsUnsentStreams, text.isEmpty else { return false }
        return code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_SEND_ERROR
    }

    /// True if the server has not processed the request, according to its GOAWAY (RFC 9113 §6.8). libcurl then has no
    /// error text. It also has none for some connection errors, after which the state of the request is unknown.
    var isGoAway: Bool { code == CURLE_HTTP2 && text.isEmpty && isAfterGoAway }

    /// True if no packet of a request was sent, because its QUIC connection was closing. libcurl has no error text
    /// after a GOAWAY and after its own end of the connection.
    static func isClosingQUIC(_ text: String) -> Bool {
        text.isEmpty || text.contains("ERR_DRAINING") || text.contains("ERR_CLOSING")
    }

    /// True if an HTTP/3 server has closed the connection. libcurl reports it even if the response has arrived before.
    var isClosedQUIC: Bool { text.contains("ERR_DRAINING") }

    /// The reason for the end of a QUIC connection, which libcurl's text names by a constant of ngtcp2; nil for other
    /// failures. libcurl closes a connection for any malformed message, frame or field section of the server, and does
    /// not show which request received it.
    var endOfQUIC: String? {
        if isClosedQUIC { return "the server closed the QUIC connection before the end of the response" }
        if text.contains("ERR_CLOSING") {
            return "the QUIC connection was closed after an error, such as malformed HTTP/3 of the server"
        }
        return text.contains("ERR_IDLE_CLOSE") ? "the QUIC connection ended because the server was silent" : nil
    }

    /// True if an HTTP/3 server requires HTTP/1.1 for the request (H3_VERSION_FALLBACK, RFC 9114 §8.1).
    var requiresHTTP11: Bool { text.contains("VERSION_FALLBACK") }

    /// libcurl's specific error text, or its general text for the code.
    var words: String { text.isEmpty ? String(cString: curl_easy_strerror(code)) : text }

    /// The message of a failed connection. libcurl's own text contains a time, so that no two are equal, and rarely the
    /// reason.
    func connectSentence(to place: String) -> String { Self.connectSentence(to: place, systemError) }

    static func connectSentence(to place: String, _ systemError: Int32) -> String {
        guard systemError != 0 else { return "could not connect to \(place)" }
        let words = describe(systemError)
        return "could not connect to \(place): \(words.prefix(1).lowercased())\(words.dropFirst())"
    }
}

/// The error of an attempt, from libcurl's result and from Curlew's own observations: libcurl reports success for some
/// broken responses.
///
/// The type is pure: it calls neither libcurl nor the system. The section "The work of libcurl and of Curlew" of the
/// article Architecture has the table.
struct EngineVerdict {
    private let request: PreparedRequest

    init(_ request: PreparedRequest) { self.request = request }

    /// - Parameter failure: The failure; nil if libcurl reports success.
    /// - Returns: nil if the response is complete.
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

    /// True if the response was complete before the attempt failed. For example, a server responds, and then resets the
    /// stream or the connection while the request body is still being sent. From 8.2 on libcurl also fails if the end
    /// of the request ends an HTTP/2 stream whose response has already ended. Over HTTP/3 it also fails if it reads the
    /// end of the response together with the server's end of the connection.
    private func isWhole(_ attempt: borrowing Attempt, after failure: EngineFailure) -> Bool {
        if attempt.wire == .http3, failure.isClosedQUIC, attempt.incoming.isBodyWhole(method: request.method) {
            return true
        }
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
        // libcurl before 8.0 accepts any end of the TCP connection, which an attacker may have caused, as the server's
        // end of TLS.
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
        if attempt.rejection == .noQUIC { return quicCode(failure) }
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
        // TLS ended without close_notify; libcurl before 8 reports it as the end of the connection. With HTTP/2 it may
        // be sending a frame when it detects the end.
        case CURLE_RECV_ERROR where incoming.head != nil && isTruncated(failure),
            CURLE_SEND_ERROR where incoming.head != nil && isTruncated(failure):
            return .responseTruncated
        // The stream was reset.
        case CURLE_HTTP3 where incoming.head != nil: return .responseTruncated
        // libcurl's content decoding is disabled, so the error concerns transfer codings.
        case CURLE_BAD_CONTENT_ENCODING: return .invalidResponse
        // The HTTP/2 connection ended before any part of a response arrived.
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
            // libcurl's own errors of parsing a response have no distinct codes in Curlew.
            return known == .engineFailed && incoming.hasBegun ? .invalidResponse : known
        }
    }

    private func quicCode(_ failure: EngineFailure) -> ErrorCode {
        failure.code == CURLE_OPERATION_TIMEDOUT ? .connectTimeout : .connectionFailed
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
        case .noQUIC: return quicSentence(failure)
        case .misdirected, .lostConnection, .fullConnection:
            return "no connection of the right kind was found"
        case nil where failure.code == CURLE_BAD_FUNCTION_ARGUMENT && attempt.incoming.hasBegun:
            return "the first field line is folded"
        case nil where failure.code == CURLE_UNSUPPORTED_PROTOCOL && attempt.stage == .exchanging:
            let hint = request.uri.scheme == "http" ? "; a port that speaks TLS answers so, and needs https" : ""
            return "the answer is not HTTP\(hint)"
        case nil where failure.code == CURLE_OPERATION_TIMEDOUT && attempt.stage == .connecting:
            return "no connection to \(place) within \(request.timeouts.connect.text)"
        case nil where failure.code == CURLE_COULDNT_CONNECT: return failure.connectSentence(to: place)
        case nil: return failure.endOfQUIC ?? failure.words
        }
    }

    /// The message of a QUIC connection that could not be made.
    private func quicSentence(_ failure: EngineFailure) -> String {
        failure.code == CURLE_OPERATION_TIMEDOUT
            ? "no QUIC connection to \(place) within \(request.timeouts.connect.text)"
            : "no QUIC connection to \(place): no UDP service, or a failed handshake"
    }

    private var place: String { request.place }

    /// The code `CURLE_TOO_LARGE`, which the header of 7.88 does not have.
    fileprivate static let tooLarge = CURLcode(rawValue: 100)
}

/// The error of an attempt that failed at its proxy, or could not reach it.
private struct ProxyVerdict {
    private let request: PreparedRequest
    private let proxy: Proxy
    private var place: String { "the proxy \(proxy.host):\(proxy.port)" }

    /// - Returns: nil if the request uses no proxy.
    init?(_ request: PreparedRequest) {
        guard let proxy = request.options.values.proxy else { return nil }
        self.request = request
        self.proxy = proxy
    }

    /// - Returns: nil if the proxy is not the cause.
    func error(in attempt: borrowing Attempt, after failure: EngineFailure) -> CurlewError? {
        guard attempt.stage == .connecting, attempt.rejection == nil else { return nil }
        let cause = CurlewError(ErrorCode(failure.code), failure.words)
        func error(_ code: ErrorCode, _ message: String) -> CurlewError {
            CurlewError(code, message, underlying: cause)
        }
        switch failure.code {
        case CURLE_COULDNT_RESOLVE_PROXY: return error(.proxyNotFound, "no address was found for \(place)")
        // From 8.20 on this is also the code of a refused tunnel.
        case CURLE_COULDNT_CONNECT where failure.tunnelStatus == 0:
            return error(.proxyFailed, failure.connectSentence(to: place))
        case CURLE_PROXY: return socksError(failure.proxyReply, error)
        case CURLE_OPERATION_TIMEDOUT: return error(.connectTimeout, timeoutSentence(failure))
        default: break
        }
        let status = failure.tunnelStatus
        let isTunnelled = (200...299).contains(status)
        if status == 407 {
            return error(.proxyAuthenticationRequired, "\(place) requires credentials, or other credentials")
        }
        if status > 0, !isTunnelled { return error(.proxyFailed, "\(place) answered CONNECT with \(status)") }
        let isOfProxy =
            Self.isBreak(failure.code) || (proxy.scheme == .https && !isTunnelled && Self.isOfTLS(failure.code))
        return isOfProxy ? error(.proxyFailed, "\(place) broke off: \(failure.words)") : nil
    }

    /// The message of a timeout. libcurl waits for ten bytes of a SOCKS 5 reply, but a reply with a short name has
    /// fewer (RFC 1928 §6).
    private func timeoutSentence(_ failure: EngineFailure) -> String {
        let time = request.timeouts.connect.text
        guard failure.hasProxyAnswered else { return "no connection through \(place) within \(time)" }
        let isSOCKS5 = proxy.scheme == .socks5 || proxy.scheme == .socks5h
        let hint = isSOCKS5 ? ", or its SOCKS reply has fewer than the ten bytes that libcurl reads" : ""
        return "\(place) answered, but no connection was ready within \(time): it is slow\(hint)"
    }

    private func socksError(_ reply: CURLproxycode, _ error: (ErrorCode, String) -> CurlewError) -> CurlewError {
        switch reply {
        case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER:
            return error(.proxyAuthenticationRequired, "\(place) requires credentials, or other credentials")
        case CURLPX_RESOLVE_HOST:
            return error(.hostNotFound, "no address was found for \(request.uri.host), to ask \(place) for")
        default:
            let words = Self.socksReplies[reply.rawValue].map { ": \($0)" } ?? ""
            return error(.proxyFailed, "\(place) did not connect to the target\(words)")
        }
    }

    /// The replies of SOCKS 5 proxies (RFC 1928 §6) and SOCKS 4 proxies.
    private static let socksReplies: [UInt32: String] = [
        CURLPX_REPLY_GENERAL_SERVER_FAILURE.rawValue: "general failure",
        CURLPX_REPLY_NOT_ALLOWED.rawValue: "not allowed by its rules",
        CURLPX_REPLY_NETWORK_UNREACHABLE.rawValue: "network unreachable",
        CURLPX_REPLY_HOST_UNREACHABLE.rawValue: "host unreachable",
        CURLPX_REPLY_CONNECTION_REFUSED.rawValue: "connection refused",
        CURLPX_REPLY_TTL_EXPIRED.rawValue: "time to live expired",
        CURLPX_REPLY_COMMAND_NOT_SUPPORTED.rawValue: "it does not support CONNECT",
        CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED.rawValue: "it does not support this kind of address",
        CURLPX_REQUEST_FAILED.rawValue: "request rejected or failed",
        CURLPX_CLOSED.rawValue: "it closed the connection",
        CURLPX_BAD_VERSION.rawValue: "it speaks another version",
    ]

    /// True if bytes were missing or invalid while only the proxy could have sent them.
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
