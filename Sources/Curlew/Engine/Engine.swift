internal import CLibcurl
internal import Glibc

/// The loaded libcurl: its start, its features and its defects.
enum Engine {
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
    static let hasHTTP3 =
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

/// The defects and differences of the loaded libcurl, by its version, for the code that works around them. The article
/// Architecture has the table.
extension Engine {
    /// From 8.0 on libcurl resumes an HTTP/2 stream whose HEADERS could not be sent at once.
    static let resumesStreams = versionNumber >= 0x080000

    /// Before 8.1 a handle keeps a pointer to the newest field line of an ended exchange, and frees the line with the
    /// next one. A folded first line is then joined to freed memory, before the header callback sees it
    /// (<https://github.com/curl/curl/issues/11101>). So the lines up to the first field are also shown as body bytes
    /// (`CURLOPT_HEADER`), which happens earlier.
    static let joinsFreedLines = versionNumber < 0x080100

    /// Before 8.2 libcurl does not notice that the end of a request ends an HTTP/2 stream whose response has already
    /// ended. From 8.2 on it treats that as an error (`CURLE_SEND_ERROR`).
    static let overlooksEndOfStream = versionNumber < 0x080200

    /// Before 8.2 libcurl has no error text for a connection error caused by an HTTP/2 server's input. It ends the
    /// connection, and would repeat requests without a response as if their streams had been refused.
    static let hidesConnectionErrors = versionNumber < 0x080200

    /// Before 8.5 libcurl asks for a writable socket even while HTTP/2's flow control permits no output.
    static let asksInVain = versionNumber < 0x080500

    /// From 8.13 on no other exchange can join a cleartext HTTP/2 connection before its first response has begun.
    static let sharesAfterFirstHead = versionNumber >= 0x080d00

    /// Before 8.7 each transfer allocates a read buffer and frees it at the end, unless it ended early. A handle with a
    /// buffer rejects another size.
    static let allocatesReadBuffers = versionNumber < 0x080700

    /// Before 8.7 the raw bytes that libcurl shows are those of the socket. From 8.7 on they are the body after chunked
    /// coding, and the chunk marks are not visible.
    static let showsRawBody = versionNumber < 0x080700

    /// Before 8.8 libcurl never clears the system error that it stored in a handle. It would report it as the reason of
    /// a later failure, or interpret it as a timeout.
    static let remembersErrors = versionNumber < 0x080800

    /// Before 8.0, with prior knowledge (`CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE`), libcurl starts HTTP/2 again on a
    /// cleartext connection that already uses it, and fails. So the first request of a connection has prior knowledge,
    /// and further requests ask for `CURL_HTTP_VERSION_2_0`.
    static let restartsHTTP2 = versionNumber < 0x080000

    /// From 7.88.0 to 8.14 libcurl writes the RST_STREAM of a stream that ends early into a buffer. It sends the buffer
    /// only with later output of the connection: <https://github.com/curl/curl/issues/17611>.
    static let keepsResetsBack = versionNumber >= 0x075800 && versionNumber < 0x080F00
}
