internal import COpenSSL

/// OpenSSL as a whole.
enum OpenSSLLibrary {
    /// Keeps OpenSSL from freeing its data when the process ends: threads that still use it would meet freed memory.
    /// The call has an effect only before the first use of OpenSSL in the process.
    static func start() { _ = hasStarted }

    private static let hasStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// The newest error of OpenSSL in words; the queue of errors is empty afterwards.
    static func takeReason() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "OpenSSL gives no reason" }
        return String(cString: reason)
    }
}
