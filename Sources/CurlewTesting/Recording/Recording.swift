#if TestKit
public import Curlew
public import HTTPTypes

/// Exchanges with a server, in the order in which their requests began: what a ``RecordingTransport`` makes and a
/// ``ReplayTransport`` answers from.
///
/// In a file it is JSON that can be read, compared and edited: sorted members, a line for each field, text as text with a
/// line for each of its lines, other bytes in Base64.
///
/// ```json
/// {
///   "exchanges" : [
///     {
///       "request" : {
///         "fields" : [
///           "Authorization: Bearer ***"
///         ],
///         "method" : "GET",
///         "url" : "https://api.example.com/birds/7"
///       },
///       "response" : {
///         "body" : {
///           "text" : "{\"name\":\"Numenius\"}"
///         },
///         "fields" : [
///           "Content-Type: application/json"
///         ],
///         "status" : "200 OK",
///         "version" : "HTTP/1.1"
///       }
///     }
///   ],
///   "version" : 1
/// }
/// ```
public struct Recording: Sendable, Hashable {
    /// What stands in the place of a secret. A request that is compared with a recorded one may have anything there.
    public static let mask = "***"

    /// The exchanges, in the order in which their requests began.
    public var exchanges: [Exchange]

    /// Makes a recording, of exchanges of a test's own.
    public init(exchanges: [Exchange] = []) {
        self.exchanges = exchanges
    }

    /// A request and what became of it.
    public struct Exchange: Sendable, Hashable {
        /// The request as it came to the transport.
        public var request: Request
        /// The response; nil if none came.
        public var response: Response?
        /// What failed: the request if there is no response, else the body after the bytes that the response has.
        public var failure: Failure?

        /// Makes an exchange that brought a response.
        public init(request: Request, response: Response, failure: Failure? = nil) {
            self.request = request
            self.response = response
            self.failure = failure
        }

        /// Makes an exchange that failed before there was a response.
        public init(request: Request, failure: Failure) {
            self.request = request
            self.failure = failure
        }
    }

    /// A recorded request.
    public struct Request: Sendable, Hashable {
        /// The method.
        public var method: HTTPRequest.Method
        /// The absolute URL, without user information and fragment.
        public var url: String
        /// The fields, as the chain gave them to the transport: without those that the engine adds.
        public var fields: HTTPFields
        /// The body.
        public var body: Body
        /// The fields after the body.
        public var trailers: HTTPFields

        /// Makes a request.
        public init(
            _ method: HTTPRequest.Method, url: String, fields: HTTPFields = [:], body: Body = Body(),
            trailers: HTTPFields = [:]
        ) {
            self.method = method
            self.url = url
            self.fields = fields
            self.body = body
            self.trailers = trailers
        }
    }

    /// A recorded response.
    public struct Response: Sendable, Hashable {
        /// The status, with its reason phrase.
        public var status: HTTPResponse.Status
        /// The fields, in the order received.
        public var fields: HTTPFields
        /// The body.
        public var body: Body
        /// The fields after the body.
        public var trailers: HTTPFields
        /// The version of HTTP that it came by.
        public var version: HTTPProtocolVersion
        /// The interim responses (1xx) before it, oldest first.
        public var interim: [HTTPResponse]

        /// Makes a response.
        public init(
            _ status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = Body(), trailers: HTTPFields = [:],
            version: HTTPProtocolVersion = .http11, interim: [HTTPResponse] = []
        ) {
            self.status = status
            self.fields = fields
            self.body = body
            self.trailers = trailers
            self.version = version
            self.interim = interim
        }
    }

    /// The bytes of a recorded message.
    public struct Body: Sendable, Hashable {
        /// The bytes, without their content coding where that could be undone.
        public var bytes: [UInt8]
        /// False if the body had more bytes than these: whoever read it stopped before its end, or it failed.
        public var isComplete: Bool

        /// Makes a body of bytes.
        public init(_ bytes: [UInt8] = [], isComplete: Bool = true) {
            self.bytes = bytes
            self.isComplete = isComplete
        }

        /// Makes a whole body of text as UTF-8.
        public init(_ text: String) {
            self.init(Array(text.utf8))
        }

        /// The body as text; nil if it is no UTF-8. Setting it to nil makes the body empty.
        public var text: String? {
            get { String(validating: self.bytes, as: UTF8.self) }
            set { self.bytes = Array((newValue ?? "").utf8) }
        }
    }

    /// The error of an exchange that failed.
    public struct Failure: Sendable, Hashable {
        /// What went wrong; ``Curlew/ErrorCode/foreignFailure`` for an error that is no `CurlewError`.
        public var code: ErrorCode
        /// How far the exchange got.
        public var stage: CurlewError.Stage
        /// The same in words.
        public var message: String

        /// Makes a failure.
        public init(_ code: ErrorCode, _ message: String = "", stage: CurlewError.Stage) {
            self.code = code
            self.stage = stage
            self.message = message
        }
    }
}

extension ErrorCode {
    /// A recording cannot be made, written or read, or does not have what is asked of it. The network never fails so.
    public static let recordingFailed = ErrorCode(rawValue: "recording-failed")
}
#endif
