#if TestKit
public import HTTPTypes

/// A response of a ``MockServer``.
///
///     var response = MockResponse(status: .ok, fields: [.contentType: "text/plain"], body: "hello")
///     response.interim = [.init(status: .init(code: 103), fields: [.link: "</a.css>; rel=preload"])]
///     response.headDelay = .milliseconds(200)
///
/// HTTP/1.1 framing is added: `Content-Length` if the length is known, otherwise `Transfer-Encoding: chunked`. Framing
/// fields that you set are sent unchanged, right or wrong.
public struct MockResponse: Sendable {
    /// An interim response, sent before the final one (RFC 9110, section 15.2).
    public struct Interim: Sendable {
        /// A status from 100 to 199.
        public var status: HTTPResponse.Status
        /// The fields.
        public var fields: HTTPFields

        /// Makes an interim response, such as 103.
        public init(status: HTTPResponse.Status, fields: HTTPFields = [:]) {
            self.status = status
            self.fields = fields
        }
    }

    /// The reaction to `Expect: 100-continue` (RFC 9110, section 10.1.1), and to short request bodies, which are
    /// received before the response.
    public struct Expectation: Sendable, Hashable {
        let isContinued: Bool
        /// 100 is sent when the body is first read, or immediately for a response from the queue.
        public static let continues = Expectation(isContinued: true)
        /// No 100 is sent; the final response is sent before the body is read.
        public static let answersAtOnce = Expectation(isContinued: false)
    }

    /// The framing that marks the end of the body. HTTP/2 has its own framing. There this property only decides whether
    /// Content-Length is sent, and whether the connection stays open.
    public struct Framing: Sendable, Hashable {
        enum Kind { case automatic, chunked, untilClose }
        let kind: Kind
        /// `Content-Length` if the length is known, otherwise chunked.
        public static let automatic = Framing(kind: .automatic)
        /// Chunked even if the length is known; in HTTP/2, without Content-Length.
        public static let chunked = Framing(kind: .chunked)
        /// The end of the connection; no framing field is sent. In HTTP/2, without Content-Length and after a GOAWAY.
        public static let untilClose = Framing(kind: .untilClose)
    }

    /// A pace: a fixed number of bytes, with a pause after each piece.
    public struct Throttle: Sendable, Hashable {
        let bytes: Int
        let pause: Duration

        /// Sends pieces of `bytes` bytes and pauses after each.
        public init(bytes: Int, every pause: Duration) {
            self.bytes = max(1, bytes)
            self.pause = pause
        }
    }

    /// The status; HTTP/1.1 also sends its reason phrase.
    public var status: HTTPResponse.Status
    /// The fields, sent in this order.
    public var fields: HTTPFields
    /// The body. It is omitted in responses to HEAD, and with 204 and 304.
    public var body: Body
    /// The fields after the body. In HTTP/1.1 they make the body chunked.
    public var trailers: HTTPFields = [:]
    /// The interim responses, sent before this one.
    public var interim: [Interim] = []
    /// The reaction to `Expect: 100-continue`; for responses from the queue.
    public var expectation = Expectation.continues
    /// The framing that marks the end of the body.
    public var framing = Framing.automatic
    /// The delay before the head.
    public var headDelay: Duration?
    /// The pace of the body; unlimited when `nil`.
    public var throttle: Throttle?
    /// True if the connection closes after the response. HTTP/1.1 sends `Connection: close`. HTTP/2 sends GOAWAY before
    /// the response, and the client closes.
    public var closesConnection = false

    /// Makes a response.
    public init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], body: Body = .none) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// 404 with a short text: the answer to a request without a queued response and without a handler.
    public static let notFound = MockResponse(status: .notFound, body: "no response for this request\n")
}
#endif
