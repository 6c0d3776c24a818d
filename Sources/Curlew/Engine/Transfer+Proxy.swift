internal import CLibcurl

extension Transfer {
    /// Whether the connections are through the request's own proxy. libcurl tells proxies apart, but for an HTTP proxy not
    /// the users that it let through.
    func fitsProxy(_ candidates: [Connection]) -> Bool {
        let options = request.options
        guard candidates.contains(where: { $0.isUsed && !options.fits($0) }) else { return true }
        refusal = .otherProxy
        // Else libcurl 8 would keep it and find it first each time.
        try? easy?.forbidReuse(true)
        return false
    }

    /// What a failure is that the proxy has caused, or that kept it from being reached.
    func proxyVerdict(
        on result: CURLcode, _ words: String, _ easy: EasyHandle, _ context: CurlewError.Context
    ) -> CurlewError? {
        guard let proxy = request.options.values.proxy, stage == .connecting, refusal == nil else { return nil }
        let place = "the proxy \(proxy.host):\(proxy.port)"
        func error(_ code: ErrorCode, _ message: String) -> CurlewError {
            CurlewError(code, message, context: context, underlying: CurlewError(ErrorCode(result), words))
        }
        switch result {
        case CURLE_COULDNT_RESOLVE_PROXY: return error(.proxyNotFound, "no address was found for \(place)")
        // So libcurl 7.88 calls the name of a SOCKS proxy, too, if nothing was connected to before.
        case CURLE_COULDNT_RESOLVE_HOST where !hasTriedAddress:
            return error(.proxyNotFound, "no address was found for \(place)")
        case CURLE_COULDNT_CONNECT: return error(.proxyFailed, connectSentence(easy, to: place))
        case CURLE_PROXY: return socksError(easy, place, error)
        case CURLE_OPERATION_TIMEDOUT:
            return error(.connectTimeout, "no connection through \(place) within \(request.timeouts.connect)")
        default: break
        }
        let status = easy.long(CURLINFO_HTTP_CONNECTCODE)
        let isTunnelled = (200...299).contains(status)
        if status == 407 {
            return error(.proxyAuthenticationRequired, "\(place) wants credentials, or others than these")
        }
        if status > 0, !isTunnelled { return error(.proxyFailed, "\(place) answered CONNECT with \(status)") }
        let isOfProxy = Self.isBreak(result) || (proxy.scheme == .https && !isTunnelled && Self.isOfTLS(result))
        return isOfProxy ? error(.proxyFailed, "\(place) broke off: \(words)") : nil
    }

    private func socksError(
        _ easy: EasyHandle, _ place: String, _ error: (ErrorCode, String) -> CurlewError
    ) -> CurlewError {
        let reason = CURLproxycode(rawValue: UInt32(truncatingIfNeeded: easy.long(CURLINFO_PROXY_ERROR)))
        switch reason {
        case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER:
            return error(.proxyAuthenticationRequired, "\(place) wants credentials, or others than these")
        case CURLPX_RESOLVE_HOST:
            return error(
                .hostNotFound, "no address was found for \(request.uri.host), to ask \(place) for")
        default:
            let words = Self.socksReasons[reason.rawValue].map { ": \($0)" } ?? ""
            return error(.proxyFailed, "\(place) did not connect to the target\(words)")
        }
    }

    /// What SOCKS 5 proxies reply (RFC 1928 §6), and SOCKS 4 ones.
    private static let socksReasons: [UInt32: String] = [
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

    /// Whether bytes were missing or wrong, where until then only the proxy could have sent any.
    private static func isBreak(_ result: CURLcode) -> Bool {
        switch result {
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_OUT_OF_MEMORY, CURLE_WEIRD_SERVER_REPLY,
            CURLE_AGAIN, CURLE_PARTIAL_FILE, tooLarge:
            true
        default: false
        }
    }

    private static func isOfTLS(_ result: CURLcode) -> Bool {
        result == CURLE_SSL_CONNECT_ERROR || result == CURLE_PEER_FAILED_VERIFICATION
    }
}

extension ConnectionOptions {
    /// Whether the connection is through the same proxy, with the same credentials, or both know none.
    fileprivate func fits(_ connection: Connection) -> Bool {
        connection.proxy == nil ? !hasProxy : hasProxy && connection.proxy == values.proxy
    }
}
