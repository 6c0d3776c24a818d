internal import CLibcurl

/// libcurl as a whole.
enum Engine {
    /// What libcurl's start answered; it runs once, before the first handle. Where somebody else in the process has started
    /// libcurl before, its own memory functions stay in use.
    private static let startResult =
        allocatesReadBuffers
        ? curlew_global_init(EngineMemory.allocate, EngineMemory.release) : curlew_global_init_plain()

    /// `LIBCURL_VERSION_NUM` of the library that is loaded.
    static let versionNumber: UInt32 = curlew_version_number()

    /// Whether an HTTP/2 stream goes on whose HEADERS could not be sent at once.
    static let resumesStreams = versionNumber >= 0x080000

    /// Whether it was built with GSS-API, and so with Negotiate, and whether with NTLM.
    static let hasNegotiate = curlew_version_features() & CURL_VERSION_SPNEGO != 0
    static let hasNTLM = curlew_version_features() & CURL_VERSION_NTLM != 0

    /// The folder in which it looks for certificate authorities of the system, if it was built with one.
    static let authorityFolder = curlew_authority_folder().map { String(cString: $0) }

    /// - Throws: ``CurlewError`` if the engine cannot be used.
    static func start() throws {
        OpenSSLLibrary.start()
        guard startResult == CURLE_OK else {
            throw CurlewError(.engineFailed, "libcurl could not be started (\(startResult.rawValue))")
        }
    }
}
