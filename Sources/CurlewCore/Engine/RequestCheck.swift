internal import FoundationEssentials
internal import HTTPTypes

/// The check of a request before it is sent: invalid parts that libcurl would send unchanged are rejected.
struct RequestCheck {
    /// The greatest number of bytes of a method, and of fields.
    private static let methodLimit = 64
    private static let fieldLimit = 10_000

    private(set) var fields: FieldList?
    /// The same fields without the expectation, for a server that rejects it.
    private(set) var fieldsWithoutExpectation: FieldList?
    /// The fields for a proxy only. If libcurl got `Proxy-Authorization` among the other fields, it would also send it
    /// to the origin.
    private(set) var proxyFields: FieldList?
    private(set) var trailers: FieldList?
    private(set) var contentLength: Int64?
    private(set) var expectsContinue = false
    /// True if a field of the request closes the connection after the exchange (RFC 9112 §9.6).
    private(set) var closesConnection = false
    private var hasHost = false

    /// - Parameters:
    ///   - length: The length of the body; nil if it is unknown.
    ///   - awaitsChallenge: True if a proxy may ask for credentials before it forwards the request. The body then waits
    ///     for its permission.
    ///   - known: The cache of field lists; nil if fields are added to the request's list later.
    mutating func take(
        _ request: CurlewRequest, length: Int64?, awaitsChallenge: Bool = false, known: FieldListCache? = nil
    ) throws {
        let method = request.method.rawValue
        guard !method.isEmpty, method.utf8.count <= Self.methodLimit, method.utf8.allSatisfy(\.isTokenByte) else {
            throw CurlewError(.invalidRequest, "the method is not a token")
        }
        guard request.method != .connect else {
            throw CurlewError(.invalidRequest, "CONNECT is for proxies only, and the transport sends it itself")
        }
        guard request.method != .head || request.body.isNone else {
            throw CurlewError(.invalidRequest, "a HEAD has no body")
        }
        guard request.method != .trace || request.body.isNone else {
            throw CurlewError(.invalidRequest, "a TRACE has no body")
        }
        contentLength = length
        let isForwarded = request.options.isAnySet && request.options.isForwarded
        let isPlain =
            request.body.isNone && request.trailers.isEmpty && !isForwarded && !request.fields.isEmpty
            && request.uri.userInformation == nil && !Self.usuallyHasContent(request.method) && request.method != .trace
        if isPlain, let list = known?.list(of: request.fields) {
            fields = list
            return
        }
        try takeExpectation(request, awaitsChallenge: awaitsChallenge && length != 0)
        try takeFields(request)
        if isPlain, let fields { known?.insert(fields, of: request.fields) }
        try takeTrailers(request)
        if isForwarded { try keepAbsentFieldsAbsent(request.fields) }
        if !request.body.isNone, contentLength == nil { try append(line: "Transfer-Encoding: chunked") }
        if request.body.isNone, Self.usuallyHasContent(request.method) {
            try append(line: "Content-Length: 0")
        }
    }

    /// Adds empty lines, which keep libcurl from adding its own fields.
    private mutating func keepAbsentFieldsAbsent(_ fields: HTTPFields) throws {
        for name in [HTTPField.Name.userAgent, .accept] where !fields.contains(name) {
            try append(line: "\(name.rawName):")
        }
    }

    private mutating func takeExpectation(_ request: CurlewRequest, awaitsChallenge: Bool) throws {
        expectsContinue = (request.options.expectContinue != nil || awaitsChallenge) && !request.body.isNone
        for field in request.fields where field.name == .expect {
            guard field.trimmedText.utf8.map(\.lowercasedASCII).elementsEqual("100-continue".utf8) else {
                throw CurlewError(.invalidRequest, "the only supported expectation is 100-continue")
            }
            expectsContinue = !request.body.isNone
        }
        guard !request.body.isNone else { return }
        // An empty line keeps libcurl from adding its own expectation to large bodies.
        try ownFields().append(line: expectsContinue ? "Expect: 100-continue" : "Expect:")
        guard expectsContinue else { return }
        let others = FieldList()
        try others.append(line: "Expect:")
        fieldsWithoutExpectation = others
    }

    /// The list, made for the first line.
    private mutating func ownFields() -> FieldList {
        if let fields { return fields }
        let made = FieldList()
        fields = made
        return made
    }

    private mutating func append(line: String) throws {
        try ownFields().append(line: line)
        try fieldsWithoutExpectation?.append(line: line)
    }

    private mutating func takeFields(_ request: CurlewRequest) throws {
        guard request.fields.count <= Self.fieldLimit else {
            throw CurlewError(.invalidRequest, "there are more than 10,000 fields")
        }
        // The response to a TRACE shows the request to others (RFC 9110 §9.3.8).
        let isTrace = request.method == .trace
        var hasAuthorization = isTrace
        for field in request.fields {
            try Self.check(field)
            switch field.name {
            case Self.hostName:
                guard !hasHost else { throw CurlewError(.invalidRequest, "there is more than one Host field") }
                hasHost = true
                try ownFields().append(field)
                try fieldsWithoutExpectation?.append(field)
            case .contentLength: try takeLength(field, of: request.body)
            case .transferEncoding, .upgrade, .trailer, Self.http2Settings:
                throw CurlewError(.invalidRequest, "the field \(field.name.rawName) is set by the transport")
            case .expect: break
            case .authorization where isTrace, .cookie where isTrace: break
            case .proxyAuthorization:
                let list = proxyFields ?? FieldList()
                proxyFields = list
                try list.append(field)
            default:
                if field.name == .authorization { hasAuthorization = true }
                if field.name == .connection || field.name == Self.proxyConnection, Self.hasClose(field) {
                    closesConnection = true
                }
                try ownFields().append(field)
                try fieldsWithoutExpectation?.append(field)
            }
        }
        if let user = request.uri.userInformation, !hasAuthorization {
            // A search for a character would miss a colon before a combining mark.
            let credentials = user.utf8.contains(.colon) ? user : user + ":"
            try append(line: "Authorization: Basic \(Data(credentials.utf8).base64EncodedString())")
        }
    }

    /// Adds a Host field, unless the request has one. libcurl would take the host from a kept connection, which may
    /// have served another host through a proxy.
    mutating func addHost(of uri: CurlewURI) throws {
        if !hasHost { try append(line: "Host: \(uri.authority)") }
    }

    private static func hasClose(_ field: HTTPField) -> Bool {
        field.value.utf8.split(separator: .comma).contains { option in
            let token = option.drop { $0 == .space || $0 == .tab }.prefix { $0 != .space && $0 != .tab }
            return token.count == 5 && zip(token, "close".utf8).allSatisfy { $0 | 0x20 == $1 }
        }
    }

    /// Accepts a Content-Length of the caller. It must equal the length of the body, if the body has a known one.
    private mutating func takeLength(_ field: HTTPField, of body: CurlewRequest.Body) throws {
        let text = field.trimmedText
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let length = Int64(text) else {
            throw CurlewError(.invalidRequest, "Content-Length is not a number")
        }
        guard contentLength == nil || contentLength == length else {
            throw CurlewError(.invalidRequest, "Content-Length does not agree with the body")
        }
        contentLength = length
    }

    private mutating func takeTrailers(_ request: CurlewRequest) throws {
        guard !request.trailers.isEmpty else { return }
        guard !request.body.isNone else {
            throw CurlewError(.invalidRequest, "there are trailers but no body")
        }
        let list = FieldList()
        for field in request.trailers {
            try Self.check(field)
            guard !Self.forbiddenTrailers.contains(field.name) else {
                throw CurlewError(.invalidRequest, "\(field.name.rawName) is not allowed in a trailer")
            }
            try list.append(field, isTrailer: true)
        }
        trailers = list
        contentLength = nil
        let names = request.trailers.map(\.name.rawName).joined(separator: ", ")
        try append(line: "Trailer: \(names)")
    }

    /// Checks a field. swift-http-types rejects most invalid bytes, but accepts control characters.
    private static func check(_ field: HTTPField) throws {
        var name = field.name.rawName
        // Contiguous bytes are checked several times faster than a view of a string.
        guard !name.isEmpty, name.withUTF8({ $0.allSatisfy(\.isTokenByte) }) else {
            throw CurlewError(.invalidRequest, "a field name is not a token")
        }
        guard field.withUnsafeBytesOfValue({ $0.allSatisfy(\.isFieldValueByte) }) else {
            throw CurlewError(.invalidRequest, "the value of \(field.name.rawName) holds a control character")
        }
        if field.name == hostName { try checkHost(field) }
    }

    private static func checkHost(_ field: HTTPField) throws {
        let isValid = field.withTrimmedValue { value in
            !value.isEmpty
                && value.allSatisfy {
                    $0.isLetter || $0.isDigit || $0 == .colon || $0 == .openBracket || $0 == .closeBracket
                        || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                }
        }
        guard isValid else { throw CurlewError(.invalidRequest, "the Host field is not a host and port") }
    }

    /// True for methods that send Content-Length: 0 without content (RFC 9110 §8.6).
    private static func usuallyHasContent(_ method: HTTPRequest.Method) -> Bool {
        method == .post || method == .put || method == .patch || method == .query
    }
    private static let hostName = HTTPField.Name("Host")!
    private static let proxyConnection = HTTPField.Name("Proxy-Connection")!
    private static let http2Settings = HTTPField.Name("HTTP2-Settings")!
    /// Fields that the recipient must know before the body (RFC 9110 §6.5.1).
    private static let forbiddenTrailers: Set<HTTPField.Name> = [
        .contentLength, .transferEncoding, hostName, .authorization, .proxyAuthorization, .cookie, .setCookie,
        .contentType, .contentEncoding, .contentRange, .trailer, .te, .expect, .maxForwards, .cacheControl, .range,
        .connection,
    ]
}
