internal import CLibcurl
internal import Glibc

/// libcurl as a whole.
enum Engine {
    /// The result of libcurl's start; it runs once, before the first handle. Where somebody else in the process has
    /// started libcurl before, its own memory functions stay in use.
    private static let startResult =
        allocatesReadBuffers && !hasAddressSanitizer
        ? curlew_global_init(CurlAllocator.allocate, CurlAllocator.release) : curlew_global_init_plain()

    /// True if AddressSanitizer watches the process. It sees no use of freed memory in blocks that are kept.
    private static let hasAddressSanitizer = dlsym(nil, "__asan_init") != nil

    /// `LIBCURL_VERSION_NUM` of the library that is loaded.
    static let versionNumber: UInt32 = curlew_version_number()

    /// True if it was built with GSS-API, and so with Negotiate; and true if with NTLM.
    static let hasNegotiate = curlew_version_features() & CURL_VERSION_SPNEGO != 0
    static let hasNTLM = curlew_version_features() & CURL_VERSION_NTLM != 0

    /// True if it was built to speak IPv6, and so takes such an address in place of a host.
    static let hasIPv6 = curlew_version_features() & CURL_VERSION_IPV6 != 0

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

/// The defects and differences of the loaded libcurl, by its version, for the code that works around them. The article
/// Architecture has the table.
extension Engine {
    /// From 8.0 on an HTTP/2 stream goes on whose HEADERS could not be sent at once.
    static let resumesStreams = versionNumber >= 0x080000

    /// Before 8.1 a handle keeps a pointer to the newest field line of an exchange that has ended, and frees the line with the
    /// next one; a folded first line is then joined to freed memory, before the callback for heads sees it
    /// (<https://github.com/curl/curl/issues/11101>). So the lines up to the first field are also shown as if they were of the
    /// body (`CURLOPT_HEADER`), which comes before.
    static let joinsFreedLines = versionNumber < 0x080100

    /// Before 8.2 it does not notice that the end of a request ends an HTTP/2 stream whose answer has ended before. From then
    /// on it takes that for an error (`CURLE_SEND_ERROR`).
    static let overlooksEndOfStream = versionNumber < 0x080200

    /// Before 8.2 it has no words for an error in what an HTTP/2 server sends on a connection, ends the connection, and would repeat
    /// requests of which it had no response as if their streams had been refused.
    static let hidesConnectionErrors = versionNumber < 0x080200

    /// Before 8.5 it asks for a writable socket also while HTTP/2's flow control lets nothing out.
    static let asksInVain = versionNumber < 0x080500

    /// From 8.13 on no other exchange may join an HTTP/2 connection in cleartext before its first response has begun.
    static let sharesAfterFirstHead = versionNumber >= 0x080d00

    /// Before 8.7 each transfer allocates a read buffer and frees it at the end, unless it ended early; a handle that has one
    /// takes no other size.
    static let allocatesReadBuffers = versionNumber < 0x080700

    /// Before 8.7 what it shows of the bytes that arrive is what the socket brought. From then on it is the body after chunked
    /// coding, and the marks of chunks are shown to nobody.
    static let showsRawBody = versionNumber < 0x080700

    /// Before 8.8 it never clears the system's error that it noted for a handle, and would report it as the reason of a
    /// later failure, or take that for a timeout.
    static let remembersErrors = versionNumber < 0x080800

    /// Before 8.0, with prior knowledge (`CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE`), it starts HTTP/2 a second time on a
    /// cleartext connection that already speaks it, and fails. So the first request of a connection has prior
    /// knowledge, and those that join it ask for `CURL_HTTP_VERSION_2_0`.
    static let restartsHTTP2 = versionNumber < 0x080000

    /// From 7.88.0 to 8.14 it writes the RST_STREAM of a stream that ends early into a buffer, and does not send it before
    /// something else is sent on its connection: <https://github.com/curl/curl/issues/17611>.
    static let keepsResetsBack = versionNumber >= 0x075800 && versionNumber < 0x080F00
}
