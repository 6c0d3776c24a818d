internal import COpenSSL

/// What OpenSSL's queue of errors says. Each use empties it: libcurl would take what is left for its own.
enum OpenSSLFailure {
    /// An error of ours with OpenSSL's reason in words.
    static func error(_ message: String) -> CurlewError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else {
            return CurlewError(.invalidTLSSetting, message)
        }
        return CurlewError(.invalidTLSSetting, "\(message): \(String(cString: reason))")
    }
}
