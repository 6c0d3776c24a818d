#if TestKit
public import Curlew
public import HTTPTypes

/// Exchanges with a server, in the order in which their requests began. A ``RecordingTransport`` makes recordings and a
/// ``ReplayTransport`` answers from them.
///
/// The file format is JSON that a person can read, compare and edit. Members are sorted, each field has its own line,
/// text has a line for each of its lines, and other bytes are in Base64.
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
    /// The replacement of a secret. When a request is compared with a recorded one, it matches any text.
    public static let mask = "***"

    /// The exchanges, in the order in which their requests began.
    public var exchanges: [Exchange]

    /// Makes a recording of a test's own exchanges.
    public init(exchanges: [Exchange] = []) {
        self.exchanges = exchanges
    }

    /// A request and its response or failure.
    public struct Exchange: Sendable, Hashable {
        /// The request as the transport received it.
        public var request: Request
        /// The response; nil if none arrived.
        public var response: Response?
        /// The failure: of the request if there is no response, otherwise of the body after the recorded bytes.
        public var failure: Failure?

        /// Makes an exchange with a response.
        public init(request: Request, response: Response, failure: Failure? = nil) {
            self.request = request
            self.response = response
            self.failure = failure
        }

        /// Makes an exchange that failed before a response arrived.
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
        /// The fields of the request at the transport: those of the chain, without those that the engine adds.
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
        /// The version of HTTP of the response.
        public var version: HTTPProtocolVersion
        /// The interim responses (1xx) before this one, oldest first.
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
        /// The bytes, without their content coding if it could be decoded.
        public var bytes: [UInt8]
        /// False if the body had more bytes: its reader stopped before the end, or it failed.
        public var isComplete: Bool

        /// Makes a body of bytes.
        public init(_ bytes: [UInt8] = [], isComplete: Bool = true) {
            self.bytes = bytes
            self.isComplete = isComplete
        }

        /// Makes a complete body of text as UTF-8.
        public init(_ text: String) {
            self.init(Array(text.utf8))
        }

        /// The body as text; nil if it is not UTF-8. Setting it to nil makes the body empty.
        public var text: String? {
            get { String(validating: self.bytes, as: UTF8.self) }
            set { self.bytes = Array((newValue ?? "").utf8) }
        }
    }

    /// The error of an exchange that failed.
    public struct Failure: Sendable, Hashable {
        /// The error code; ``Curlew/ErrorCode/foreignFailure`` for an error that is not a `CurlewError`.
        public var code: ErrorCode
        /// The stage that the exchange reached.
        public var stage: CurlewError.Stage
        /// The error message.
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
    /// A recording cannot be made, written or read, or lacks the requested data. The network never causes this error.
    public static let recordingFailed = ErrorCode(rawValue: "recording-failed")
}
#endif
