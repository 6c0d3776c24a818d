#if TestKit
public import HTTPTypes

/// What a ``MockServer`` answers.
///
///     var response = MockResponse(status: .ok, fields: [.contentType: "text/plain"], body: "hello")
///     response.interim = [.init(status: .init(code: 103), fields: [.link: "</a.css>; rel=preload"])]
///     response.headDelay = .milliseconds(200)
///
/// Framing is added for HTTP/1.1: `Content-Length` where the length is known, else `Transfer-Encoding: chunked`.
/// Fields that you give for it are sent as they are, right or wrong.
public struct MockResponse: Sendable {
    /// An interim response, sent before the final one (RFC 9110, section 15.2).
    public struct Interim: Sendable {
        /// A status from 100 to 199.
        public var status: HTTPResponse.Status
        /// Its fields.
        public var fields: HTTPFields

        /// Makes an interim response, such as 103.
        public init(status: HTTPResponse.Status, fields: HTTPFields = [:]) {
            self.status = status
            self.fields = fields
        }
    }

    /// The reaction to `Expect: 100-continue` (RFC 9110, section 10.1.1), and whether a short body is awaited.
    public struct Expectation: Sendable, Hashable {
        let isContinued: Bool
        /// 100 is sent when the body is first read, or at once for a response from the queue.
        public static let continues = Expectation(isContinued: true)
        /// No 100 is sent; the final answer comes straight, before the body is read.
        public static let answersAtOnce = Expectation(isContinued: false)
    }

    /// The framing that marks the end of the body. HTTP/2 has its own and needs none of this: there it decides only
    /// whether Content-Length is sent, and whether the connection is kept.
    public struct Framing: Sendable, Hashable {
        enum Kind { case automatic, chunked, untilClose }
        let kind: Kind
        /// `Content-Length` where the length is known, else chunked.
        public static let automatic = Framing(kind: .automatic)
        /// Chunked even where the length is known; in HTTP/2, without Content-Length.
        public static let chunked = Framing(kind: .chunked)
        /// By closing the connection; no framing field is sent. In HTTP/2, without Content-Length and with GOAWAY
        /// before it.
        public static let untilClose = Framing(kind: .untilClose)
    }

    /// A pace: pieces of some bytes, with a pause after each.
    public struct Throttle: Sendable, Hashable {
        let bytes: Int
        let pause: Duration

        /// Sends `bytes` at a time and pauses after each.
        public init(bytes: Int, every pause: Duration) {
            self.bytes = max(1, bytes)
            self.pause = pause
        }
    }

    /// The status; its reason phrase is sent in HTTP/1.1.
    public var status: HTTPResponse.Status
    /// The fields, sent in this order.
    public var fields: HTTPFields
    /// The body. Nothing of it is sent to HEAD, or with 204 and 304.
    public var body: Body
    /// Fields after the body. In HTTP/1.1 they make the body chunked.
    public var trailers: HTTPFields = [:]
    /// The interim responses that are sent before.
    public var interim: [Interim] = []
    /// The reaction to an expectation; for responses from the queue.
    public var expectation = Expectation.continues
    /// The framing that marks the end of the body.
    public var framing = Framing.automatic
    /// A wait before the head.
    public var headDelay: Duration?
    /// The pace of the body; as fast as the client takes it when `nil`.
    public var throttle: Throttle?
    /// True if the connection closes afterwards: `Connection: close` in HTTP/1.1; in HTTP/2 GOAWAY comes before the
    /// response, and the client closes.
    public var closesConnection = false

    /// Makes a response.
    public init(status: HTTPResponse.Status = .ok, fields: HTTPFields = [:], body: Body = .none) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// 404 with a short text: what is answered when nothing else is known.
    public static let notFound = MockResponse(status: .notFound, body: "no response for this request\n")
}
#endif
