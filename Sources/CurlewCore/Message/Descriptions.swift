internal import HTTPTypes

extension CurlewRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URI, without user information and with `***` for the query: `GET https://api.example.com/birds?***`.
    public var description: String { "\(method) \(uri.loggedText(showsQuery: options.showsQueries))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension CurlewRequest.Body: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of the body and its length, without its bytes.
    public var description: String {
        switch source {
        case .none: "no body"
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .file(let path, _, _): "the file \(path)"
        case .watched: "a file"
        case .factory: length.map { "a stream of \($0) bytes" } ?? "a stream"
        case .once, .relayed: length.map { "a stream of \($0) bytes, read once" } ?? "a stream, read once"
        }
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension CurlewResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, version and URI: `200 OK, HTTP/2, https://api.example.com/birds`.
    public var description: String { "\(status.text), \(version), \(uri.loggedText(showsQuery: showsQuery))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}

extension CurlewResponse.Body: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The length of the body, without its bytes.
    public var description: String { length.map { "a body of \($0) bytes" } ?? "a body of unknown length" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["body": description]) }
}

extension HTTPResponse.Status {
    /// The code and its registered phrase: `404 Not Found`. The response's own phrase is the peer's text and is not
    /// used.
    var text: String { Self.phrases[code].map { "\(code) \($0)" } ?? "\(code)" }

    /// The phrases of the statuses that HTTPTypes names.
    private static let phrases: [Int: String] = {
        let statuses: [HTTPResponse.Status] = [
            .switchingProtocols, .earlyHints, .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent,
            .resetContent, .partialContent, .multipleChoices, .movedPermanently, .found, .seeOther, .notModified,
            .temporaryRedirect, .permanentRedirect, .badRequest, .unauthorized, .forbidden, .notFound,
            .methodNotAllowed, .notAcceptable, .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone,
            .lengthRequired, .preconditionFailed, .contentTooLarge, .uriTooLong, .unsupportedMediaType,
            .rangeNotSatisfiable, .expectationFailed, .misdirectedRequest, .unprocessableContent, .tooEarly,
            .upgradeRequired, .preconditionRequired, .tooManyRequests, .requestHeaderFieldsTooLarge,
            .unavailableForLegalReasons, .internalServerError, .notImplemented, .badGateway, .serviceUnavailable,
            .gatewayTimeout, .httpVersionNotSupported, .networkAuthenticationRequired,
        ]
        return Dictionary(statuses.map { ($0.code, $0.reasonPhrase) }) { first, _ in first }
    }()
}
