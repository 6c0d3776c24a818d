internal import FoundationEssentials
internal import HTTPTypes

/// Checks a request before it leaves: what libcurl would pass on as it is must not reach it.
struct RequestCheck {
    /// The most bytes of a method, and the most fields.
    private static let methodLimit = 64
    private static let fieldLimit = 10_000

    private(set) var fields: FieldList?
    /// The same without the expectation, for a server that will not have it.
    private(set) var fieldsWithoutExpectation: FieldList?
    /// The fields that go to a proxy alone: in libcurl's hands it would go to the origin too.
    private(set) var proxyFields: FieldList?
    private(set) var trailers: FieldList?
    private(set) var contentLength: Int64?
    private(set) var expectsContinue = false
    /// True if the connection is to be closed after the exchange, as a field of the request says (RFC 9112 §9.6).
    private(set) var closesConnection = false
    private var hasHost = false

    /// - Parameters:
    ///   - length: The bytes that the body has, if that is known.
    ///   - known: The lists of fields that are kept; nil if the request's list is added to later.
    mutating func take(_ request: CurlewRequest, length: Int64?, known: FieldListCache? = nil) throws {
        let method = request.method.rawValue
        guard !method.isEmpty, method.utf8.count <= Self.methodLimit, method.utf8.allSatisfy(\.isTokenByte) else {
            throw CurlewError(.invalidRequest, "the method is not a token")
        }
        guard request.method != .connect else {
            throw CurlewError(.invalidRequest, "CONNECT is for proxies, and they are the transport's")
        }
        guard request.method != .head || request.body.isNone else {
            throw CurlewError(.invalidRequest, "a HEAD has no body")
        }
        contentLength = length
        let isForwarded = request.options.isAnySet && request.options.isForwarded
        let isPlain =
            request.body.isNone && request.trailers.isEmpty && !isForwarded && !request.fields.isEmpty
            && request.uri.userInformation == nil && !Self.usuallyHasContent(request.method)
        if isPlain, let list = known?.list(of: request.fields) {
            fields = list
            return
        }
        try takeExpectation(request)
        try takeFields(request)
        if isPlain, let fields { known?.insert(fields, of: request.fields) }
        try takeTrailers(request)
        if isForwarded { try keepAbsentFieldsAbsent(request.fields) }
        if !request.body.isNone, contentLength == nil { try append(line: "Transfer-Encoding: chunked") }
        if request.body.isNone, Self.usuallyHasContent(request.method) {
            try append(line: "Content-Length: 0")
        }
    }

    /// An empty line keeps libcurl from adding a field of its own.
    private mutating func keepAbsentFieldsAbsent(_ fields: HTTPFields) throws {
        for name in [HTTPField.Name.userAgent, .accept] where !fields.contains(name) {
            try append(line: "\(name.rawName):")
        }
    }

    private mutating func takeExpectation(_ request: CurlewRequest) throws {
        expectsContinue = request.options.expectContinue != nil && !request.body.isNone
        for field in request.fields where field.name == .expect {
            guard field.trimmedText.utf8.map(\.lowercasedASCII).elementsEqual("100-continue".utf8) else {
                throw CurlewError(.invalidRequest, "the only expectation there is, is 100-continue")
            }
            expectsContinue = !request.body.isNone
        }
        guard !request.body.isNone else { return }
        // An empty line keeps libcurl from adding an expectation of its own to large bodies.
        try ownFields().append(line: expectsContinue ? "Expect: 100-continue" : "Expect:")
        guard expectsContinue else { return }
        let others = FieldList()
        try others.append(line: "Expect:")
        fieldsWithoutExpectation = others
    }

    /// The list, made when the first line is to go into it.
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
        var hasAuthorization = false
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
                throw CurlewError(.invalidRequest, "the field \(field.name.rawName) is the transport's to set")
            case .expect: break
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
            let credentials = user.contains(":") ? user : user + ":"
            try append(line: "Authorization: Basic \(Data(credentials.utf8).base64EncodedString())")
        }
    }

    /// Adds a Host field, unless the request has one. libcurl writes it by what it knows of a kept connection, which in front of a
    /// proxy may have served another host.
    mutating func addHost(of uri: CurlewURI) throws {
        if !hasHost { try append(line: "Host: \(uri.authority)") }
    }

    private static func hasClose(_ field: HTTPField) -> Bool {
        field.value.utf8.split(separator: .comma).contains { option in
            let token = option.drop { $0 == .space || $0 == .tab }.prefix { $0 != .space && $0 != .tab }
            return token.count == 5 && zip(token, "close".utf8).allSatisfy { $0 | 0x20 == $1 }
        }
    }

    /// A length given by the caller serves where the body has none of its own, and must agree where it has.
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
                throw CurlewError(.invalidRequest, "\(field.name.rawName) may not stand in a trailer")
            }
            try list.append(field, isTrailer: true)
        }
        trailers = list
        contentLength = nil
        let names = request.trailers.map(\.name.rawName).joined(separator: ", ")
        try append(line: "Trailer: \(names)")
    }

    /// swift-http-types keeps most of it out already; what it lets through are the control characters.
    private static func check(_ field: HTTPField) throws {
        var name = field.name.rawName
        // Contiguous bytes are looked at several times faster than a view of a string.
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

    /// Methods that say so when they come without content (RFC 9110 §8.6).
    private static func usuallyHasContent(_ method: HTTPRequest.Method) -> Bool {
        method == .post || method == .put || method == .patch || method == .query
    }
    private static let hostName = HTTPField.Name("Host")!
    private static let proxyConnection = HTTPField.Name("Proxy-Connection")!
    private static let http2Settings = HTTPField.Name("HTTP2-Settings")!
    /// Fields that must be known before the body (RFC 9110 §6.5.1).
    private static let forbiddenTrailers: Set<HTTPField.Name> = [
        .contentLength, .transferEncoding, hostName, .authorization, .proxyAuthorization, .cookie, .setCookie,
        .contentType, .contentEncoding, .contentRange, .trailer, .te, .expect, .maxForwards, .cacheControl, .range,
        .connection,
    ]
}
