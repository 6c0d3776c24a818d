internal import COpenSSL

/// The state of the OpenSSL library in the process.
package enum OpenSSLLibrary {
    /// Disables OpenSSL's cleanup at the end of the process, as other threads may still use the library. It must be
    /// called before the first use of OpenSSL; after a use by other code in the process it has no effect.
    package static func start() { _ = hasStarted }

    private static let hasStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
