internal import CLibcurl
internal import CurlewPlatform

/// The loaded libcurl: its start, its features and its defects.
package enum Engine {
    /// The result of libcurl's start; it runs once, before the first handle. If other code of the process has started
    /// libcurl before, libcurl keeps its own memory functions.
    private static let startResult =
        allocatesReadBuffers && !hasAddressSanitizer
        ? curlew_global_init(CurlAllocator.allocate, CurlAllocator.release) : curlew_global_init_plain()

    /// True if AddressSanitizer watches the process. It cannot detect uses of freed memory in kept blocks.
    private static let hasAddressSanitizer = dlsym(nil, "__asan_init") != nil

    /// `LIBCURL_VERSION_NUM` of the library that is loaded.
    static let versionNumber: UInt32 = curlew_version_number()

    /// The same as text: `7.88.1`.
    static let versionText = [16, 8, 0].map { String(versionNumber >> $0 & 0xFF) }.joined(separator: ".")

    /// True if libcurl was built with GSS-API, and so with Negotiate. The next property is true if it was built with
    /// NTLM.
    static let hasNegotiate = curlew_version_features() & CURL_VERSION_SPNEGO != 0
    static let hasNTLM = curlew_version_features() & CURL_VERSION_NTLM != 0

    /// True if libcurl was built with IPv6, and so accepts such an address as a host.
    static let hasIPv6 = curlew_version_features() & CURL_VERSION_IPV6 != 0

    /// True if HTTP/3 can be used. libcurl must be 8.21 or newer and built with ngtcp2.
    ///
    /// Other QUIC libraries are not used. curl has removed OpenSSL's, which Debian 13's libcurl 8.14.1 has, and
    /// libcurl shows no TLS connection with it. Older versions are not tested.
    package static let hasHTTP3 =
        versionNumber >= 0x081500 && curlew_version_features() & CURL_VERSION_HTTP3 != 0
        && curlew_quic_version().map { String(cString: $0).contains("ngtcp2/") } ?? false

    /// The value `CURL_HTTP_VERSION_3ONLY`, which the header of 7.88 does not have. Curlew makes the other connection
    /// itself if QUIC fails.
    static let onlyHTTP3 = 31

    /// The folder of the system's certificate authorities, if libcurl was built with one.
    static let authorityFolder = curlew_authority_folder().map { String(cString: $0) }

    /// - Throws: ``CurlewError`` if libcurl cannot be used.
    static func start() throws {
        OpenSSLLibrary.start()
        guard startResult == CURLE_OK else {
            throw CurlewError(.engineFailed, "libcurl could not be started (\(startResult.rawValue))")
        }
    }
}

/// The ``LibcurlDefect``s of the loaded libcurl, for the code that works around them.
extension Engine {
    static let restartsHTTP2 = has(.restartsHTTP2)
    static let stallsUnsentStreams = has(.stallsUnsentStreams)
    static let joinsFreedLines = has(.joinsFreedLines)
    static let overlooksEndOfStream = has(.overlooksEndOfStream)
    static let hidesConnectionErrors = has(.hidesConnectionErrors)
    static let asksInVain = has(.asksInVain)
    static let allocatesReadBuffers = has(.allocatesReadBuffers)
    static let dropsExcess = has(.dropsExcess)
    static let remembersErrors = has(.remembersErrors)
    static let decodesProxyCredentials = has(.decodesProxyCredentials)
    static let keepsResetsBack = has(.keepsResetsBack)
    static let sharesAfterFirstHead = has(.sharesAfterFirstHead)
    static let forgetsShutdowns = has(.forgetsShutdowns)
    static let capitalizesEscapes = has(.capitalizesEscapes)
    static let refusesProxiedIPv6 = has(.refusesProxiedIPv6)

    private static func has(_ defect: LibcurlDefect) -> Bool { defect.versions.contains(versionNumber) }

    /// True if the raw bytes that libcurl shows are those of the socket. From 8.7 on they are the body after chunked
    /// coding, and the chunk marks are not visible.
    static let showsRawBody = versionNumber < 0x080700
}
