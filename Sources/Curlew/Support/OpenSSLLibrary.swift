internal import COpenSSL

/// OpenSSL as a whole.
package enum OpenSSLLibrary {
    /// Leaves it as it is when the process ends: threads that still use it would meet what is gone. It has to be said before
    /// OpenSSL is used for the first time; where somebody else in the process has used it before, it has no effect.
    package static func start() { _ = hasStarted }

    private static let hasStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
