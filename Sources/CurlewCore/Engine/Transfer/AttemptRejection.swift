/// The reason to abandon an attempt whose exchange has not failed, so that another attempt can follow.
enum AttemptRejection: CaseIterable {
    /// The kept connection had unread bytes, or had ended.
    case strayInput
    /// libcurl is about to repeat the request: its kept connection ended without a byte of a response.
    case resend
    /// As ``resend``, but no byte of the request was sent.
    case unsent
    /// The server has certainly not processed the request. It refused the stream (RFC 9113 §8.7), or ended the
    /// connection by a GOAWAY with an earlier last stream (§6.8).
    case refusedStream
    /// The server requires HTTP/1.1 for the request (HTTP_1_1_REQUIRED, RFC 9113 §7).
    case http11Required
    /// The HTTP/2 connection permits no stream, so the request was not sent.
    case heldBack
    /// The server rejected the expectation; the body was not sent.
    case expectation
    /// The server is not responsible for the URI on this connection (421, RFC 9110 §15.5.20).
    case misdirected
    /// No QUIC connection to the server can be made.
    case noQUIC
    /// libcurl no longer has the connection, or has chosen another one.
    case lostConnection
    /// The shared connection permits no more streams.
    case fullConnection
    /// A response arrived on the kept connection before its server had a byte of the request.
    case unaskedAnswer
    /// libcurl has broken the request's stream, before any byte of a response.
    case brokenStream

    /// True if libcurl was about to repeat the request by itself.
    var isRepetition: Bool {
        switch self {
        case .resend, .unsent, .refusedStream, .http11Required: true
        default: false
        }
    }
}
