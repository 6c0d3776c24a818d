internal import Curlew
internal import HTTPTypes

/// The order of a line: its fields, parsed and checked.
struct Order: Sendable {
    var operation = Operation.fetch
    var session: String?

    // The request.
    var method: String?
    var url: String?
    /// The base URL.
    var base: String?
    var fields: [RawField] = []
    var body: Body?
    var isChunked = false
    var trailers: [RawField] = []
    var content = Content()
    /// The file of an upload.
    var uploadFile: String?
    var resumable: ResumableUpload.Dialect?
    /// The path of a resumable upload's token.
    var uploadToken: String?

    // The route.
    var options = RequestOptions()
    var version = Version.negotiated
    var hosts: [ConnectionRoute.HostOverride] = []
    var redirections: [ConnectTo] = []
    var unixSocket: String?
    var proxy: String?
    var proxyLogin: ProxyLogin?
    var credentials: Credentials?
    var security = SecuritySettings()

    // The treatment of the response.
    var redirect = Redirect.follow
    var redirectLimit = 20
    var bodyLimit: ByteSize?
    var reading = Reading()
    var download: Download?
    /// The mode in which the session's cache is created.
    var cacheMode: HTTPCache.Mode?

    // A WebSocket.
    var protocols: [String] = []
    var compresses = false
    /// The items to send over the WebSocket.
    var items: [WebSocketItem] = []

    // The subject of other operations.
    var target: JSONValue?
    var subject: String?

    enum Body: Sendable, Hashable {
        case bytes([UInt8])
        case file(String)
    }

    enum Redirect: String, Sendable { case follow, manual, error }

    enum Version: String, Sendable {
        case negotiated
        case http11 = "1.1"
        case http2 = "2"
        case http2PriorKnowledge = "2-prior-knowledge"
        case http3 = "3"
    }
}

extension Order {
    /// Parses a line by the table of its operation's fields. An invalid value is reported before an unsupported one.
    init(_ line: RequestLine) throws {
        if let problem = line.problem { throw LineProblem.unusable(problem) }
        if let name = try line.members.first(where: { $0.name == "op" }).map(FieldValue.init)?.stringOrNull() {
            guard let known = Operation.named(name) else { throw LineProblem.unsupported("op \(name)") }
            operation = known
        }
        var unsupported: LineProblem?
        for member in line.members where member.name != "op" {
            do {
                try take(FieldValue(member))
            } catch let problem as LineProblem {
                guard case .unsupported = problem else { throw problem }
                unsupported = unsupported ?? problem
            }
        }
        if let unsupported { throw unsupported }
    }

    private mutating func take(_ field: FieldValue) throws {
        guard let rule = operation.rules.first(where: { $0.name == field.name }) else {
            throw LineProblem.unsupported("field \(field.name)")
        }
        // A field that is null has its default, except a field whose rule accepts null, such as the id.
        guard field.value != .null || rule.takesNull else { return }
        try rule.take(field, &self)
    }
}
