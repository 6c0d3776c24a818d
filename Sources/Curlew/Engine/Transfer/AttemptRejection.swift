/// Why an attempt was given up though its exchange has not failed, so that another may be made.
enum AttemptRejection: CaseIterable {
    /// The kept connection had bytes or an end waiting.
    case strayInput
    /// libcurl wants to send the request a second time: its kept connection ended without a byte of a response.
    case resend
    /// The same, and not a byte of the request had left.
    case unsent
    /// The server has certainly not processed the request: it refused the stream (RFC 9113 §8.7), or has ended the connection
    /// by a GOAWAY whose last stream came before (§6.8).
    case refusedStream
    /// The server wants the request over HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7).
    case http11Required
    /// The HTTP/2 connection permits no stream, so the request has not left.
    case heldBack
    /// The server refused the expectation; the body has not left.
    case expectation
    /// The server says that the connection does not lead to whoever answers for the URI (421, RFC 9110 §15.5.20).
    case misdirected
    /// The engine does not have the connection any more, or has taken another one.
    case lostConnection
    /// The shared connection permits no more streams.
    case fullConnection
    /// An answer came over the kept connection before its server had a byte of the request.
    case unaskedAnswer
    /// libcurl has broken the request's stream, and nothing of an answer had come.
    case brokenStream

    /// True if libcurl was about to send the request a second time by itself.
    var isRepetition: Bool {
        switch self {
        case .resend, .unsent, .refusedStream, .http11Required: true
        default: false
        }
    }
}
