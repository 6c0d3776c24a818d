/// The defects and differences of libcurl that Curlew works around only in the versions that have them. The article
/// Architecture has the table of all of them, by version.
enum LibcurlDefect: String, CaseIterable {
    /// A cleartext HTTP/2 connection cannot be used again with prior knowledge
    /// (`CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE`): libcurl starts HTTP/2 a second time, and fails. So the first request of
    /// a connection has prior knowledge, and further requests ask for `CURL_HTTP_VERSION_2_0`.
    case restartsHTTP2

    /// An HTTP/2 stream whose HEADERS could not be sent at once is never resumed.
    case stallsUnsentStreams

    /// A handle keeps a pointer to the newest field line of an ended exchange, and frees the line with the next one. A
    /// folded first line is then joined to freed memory, before the header callback sees it
    /// (<https://github.com/curl/curl/issues/11101>). So the lines up to the first field are also shown as body bytes
    /// (`CURLOPT_HEADER`), which happens earlier.
    case joinsFreedLines

    /// The end of a request does not end an HTTP/2 stream whose response has already ended. Later versions treat that
    /// as an error (`CURLE_SEND_ERROR`).
    case overlooksEndOfStream

    /// A connection error caused by an HTTP/2 server's input has no error text. libcurl ends the connection, and would
    /// repeat requests without a response as if their streams had been refused.
    case hidesConnectionErrors

    /// A writable socket is awaited even while HTTP/2's flow control permits no output.
    case asksInVain

    /// Each transfer allocates a read buffer and frees it at the end, unless it ended early. A handle with a buffer
    /// rejects another size.
    case allocatesReadBuffers

    /// Bytes behind the head of a response without a body are dropped, and the connection is kept. A message is the
    /// only sign of them.
    case dropsExcess

    /// The system error that a handle has stored is never cleared. libcurl would report it as the reason of a later
    /// failure, or interpret it as a timeout.
    case remembersErrors

    /// The credentials for a proxy are percent-decoded.
    case decodesProxyCredentials

    /// The RST_STREAM of a stream that ends early waits in a buffer for later output of the connection
    /// (<https://github.com/curl/curl/issues/17611>).
    case keepsResetsBack

    /// No other exchange can join a cleartext HTTP/2 connection before its first response has begun.
    case sharesAfterFirstHead

    /// The shutdown of a connection continues only with an event of its socket, which libcurl may not watch. Without
    /// such an event its descriptor stays open as long as the multi handle. So libcurl is called for all its sockets.
    case forgetsShutdowns

    /// The hexadecimal digits of percent-encoded bytes are sent in capitals, whatever the URL has
    /// (<https://github.com/curl/curl/issues/21524>). A signature of the target would not match.
    case capitalizesEscapes

    /// A request to an HTTP proxy fails with `CURLE_OUT_OF_MEMORY` if its host is an IPv6 address: libcurl puts the
    /// address into the target without brackets. So it gets another URL, and the target from Curlew.
    case refusesProxiedIPv6

    /// The affected versions, in the form of `LIBCURL_VERSION_NUM`. The oldest supported version is 7.88.0.
    var versions: Range<UInt32> {
        switch self {
        case .restartsHTTP2, .stallsUnsentStreams: 0..<0x080000
        case .joinsFreedLines: 0..<0x080100
        case .overlooksEndOfStream, .hidesConnectionErrors: 0..<0x080200
        case .asksInVain: 0..<0x080500
        case .allocatesReadBuffers, .dropsExcess: 0..<0x080700
        case .remembersErrors, .decodesProxyCredentials: 0..<0x080800
        case .keepsResetsBack: 0..<0x080F00
        case .sharesAfterFirstHead: 0x080D00..<UInt32.max
        case .forgetsShutdowns: 0x081200..<UInt32.max
        case .capitalizesEscapes: 0x081400..<UInt32.max
        case .refusesProxiedIPv6: 0x081500..<UInt32.max
        }
    }
}
