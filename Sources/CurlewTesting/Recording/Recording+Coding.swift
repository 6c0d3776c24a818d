#if TestKit
internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

extension Recording: Codable {
    /// The version of the format for writing, and the only version that can be read.
    static let formatVersion = 1

    private enum CodingKeys: CodingKey { case version, exchanges }

    /// Decodes a recording that `encode(to:)` has written.
    ///
    /// - Throws: `DecodingError`, also for another version of the format.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.formatVersion else {
            throw container.corrupted(
                .version, "the format has version \(version), and this release of Curlew reads \(Self.formatVersion)")
        }
        self.init(exchanges: try container.decode([Exchange].self, forKey: .exchanges))
    }

    /// Encodes the version of the format and the exchanges.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.formatVersion, forKey: .version)
        try container.encode(self.exchanges, forKey: .exchanges)
    }
}

extension Recording.Exchange: Codable {
    private enum CodingKeys: CodingKey { case request, response, failure }

    /// Decodes an exchange that `encode(to:)` has written.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.request = try container.decode(Recording.Request.self, forKey: .request)
        self.response = try container.decodeIfPresent(Recording.Response.self, forKey: .response)
        self.failure = try container.decodeIfPresent(Recording.Failure.self, forKey: .failure)
        guard self.response != nil || self.failure != nil else {
            throw container.corrupted(.response, "there is neither a response nor a failure")
        }
    }

    /// Encodes the request, and the response and the failure if they exist.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.request, forKey: .request)
        try container.encodeIfPresent(self.response, forKey: .response)
        try container.encodeIfPresent(self.failure, forKey: .failure)
    }
}

extension Recording.Request: Codable {
    private enum CodingKeys: CodingKey { case method, url, fields, body, trailers }

    /// Decodes a request that `encode(to:)` has written.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decode(String.self, forKey: .method)
        guard let method = HTTPRequest.Method(name) else {
            throw container.corrupted(.method, "the value is not a method")
        }
        self.method = method
        let url = try container.decode(String.self, forKey: .url)
        // The host may be masked, and the URL then is no valid URI.
        guard ["http://", "https://"].contains(where: { url.hasPrefix($0) }) else {
            throw container.corrupted(.url, "the value is not an absolute URL")
        }
        self.url = url
        self.fields = try container.decodeFields(.fields)
        self.body = try container.decodeIfPresent(Recording.Body.self, forKey: .body) ?? Recording.Body()
        self.trailers = try container.decodeFields(.trailers)
    }

    /// Encodes the members that are not empty.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.method.rawValue, forKey: .method)
        try container.encode(self.url, forKey: .url)
        try container.encode(self.fields, .fields)
        if self.body != Recording.Body() { try container.encode(self.body, forKey: .body) }
        try container.encode(self.trailers, .trailers)
    }
}

extension Recording.Response: Codable {
    private enum CodingKeys: CodingKey { case status, fields, body, trailers, version, interim }

    /// Decodes a response that `encode(to:)` has written.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.status = try container.decodeStatus(.status)
        self.fields = try container.decodeFields(.fields)
        self.body = try container.decodeIfPresent(Recording.Body.self, forKey: .body) ?? Recording.Body()
        self.trailers = try container.decodeFields(.trailers)
        self.interim = try container.decodeIfPresent([InterimForm].self, forKey: .interim)?.map(\.head) ?? []
        let name = try container.decode(String.self, forKey: .version)
        guard let version = Self.versions.first(where: { $0.description == name }) else {
            throw container.corrupted(.version, "the value is not a version of HTTP")
        }
        self.version = version
    }

    /// Encodes the members that are not empty.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.status.line, forKey: .status)
        try container.encode(self.fields, .fields)
        if self.body != Recording.Body() { try container.encode(self.body, forKey: .body) }
        try container.encode(self.trailers, .trailers)
        try container.encode(self.version.description, forKey: .version)
        if !self.interim.isEmpty { try container.encode(self.interim.map { InterimForm(head: $0) }, forKey: .interim) }
    }

    private static let versions: [HTTPProtocolVersion] = [
        .http10, .http11, .http2, HTTPProtocolVersion(major: 3, minor: 0),
    ]
}

/// An interim response in its file format.
private struct InterimForm: Codable {
    private enum CodingKeys: CodingKey { case status, fields }

    let head: HTTPResponse

    init(head: HTTPResponse) {
        self.head = head
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.head = HTTPResponse(
            status: try container.decodeStatus(.status), headerFields: try container.decodeFields(.fields))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.head.status.line, forKey: .status)
        try container.encode(self.head.headerFields, .fields)
    }
}

extension Recording.Body: Codable {
    private enum CodingKeys: CodingKey { case text, lines, base64, isComplete }

    /// Decodes a body that `encode(to:)` has written.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.isComplete = try container.decodeIfPresent(Bool.self, forKey: .isComplete) ?? true
        if let text = try container.decodeIfPresent(String.self, forKey: .text) {
            self.bytes = Array(text.utf8)
        } else if let lines = try container.decodeIfPresent([String].self, forKey: .lines) {
            self.bytes = lines.flatMap(\.utf8)
        } else if let text = try container.decodeIfPresent(String.self, forKey: .base64) {
            guard let data = Data(base64Encoded: text) else {
                throw container.corrupted(.base64, "the value is not Base64")
            }
            self.bytes = Array(data)
        } else {
            self.bytes = []
        }
    }

    /// Encodes text as `text`, or as `lines` if it has several lines, and other bytes as `base64`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !self.isComplete { try container.encode(false, forKey: .isComplete) }
        guard !self.bytes.isEmpty else { return }
        if let lines = self.lines {
            if lines.count == 1 {
                try container.encode(lines[0], forKey: .text)
            } else {
                try container.encode(lines, forKey: .lines)
            }
        } else {
            try container.encode(Data(self.bytes).base64EncodedString(), forKey: .base64)
        }
    }

    /// The lines with their terminators; nil for bytes that are not readable text.
    private var lines: [String]? {
        let isText = self.bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f || [0x09, 0x0a, 0x0d].contains($0) }
        guard isText, self.text != nil else { return nil }
        var lines: [String] = []
        var rest = self.bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0a).map { $0 + 1 } ?? rest.endIndex
            lines.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[end...]
        }
        return lines
    }
}

extension Recording.Failure: Codable {
    private enum CodingKeys: CodingKey { case code, stage, message }

    /// Decodes a failure that `encode(to:)` has written.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.code = ErrorCode(rawValue: try container.decode(String.self, forKey: .code))
        self.stage = try container.decode(CurlewError.Stage.self, forKey: .stage)
        self.message = try container.decodeIfPresent(String.self, forKey: .message) ?? ""
    }

    /// Encodes code, stage and message.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.code.rawValue, forKey: .code)
        try container.encode(self.stage, forKey: .stage)
        if !self.message.isEmpty { try container.encode(self.message, forKey: .message) }
    }
}

/// A field in its file format: `Name: value`, or an object for a value that is not UTF-8.
private struct FieldForm: Codable {
    private enum CodingKeys: CodingKey { case name, base64 }

    let field: HTTPField

    init(field: HTTPField) {
        self.field = field
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            if let line = try? container.decode(String.self) {
                guard let colon = line.firstIndex(of: ":") else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "a field without a colon")
                }
                let value = line[line.index(after: colon)...]
                self.field = try HTTPField(
                    checking: String(line[..<colon]),
                    value: Array((value.first == " " ? value.dropFirst() : value).utf8))
            } else {
                let object = try decoder.container(keyedBy: CodingKeys.self)
                let bytes = Data(base64Encoded: try object.decode(String.self, forKey: .base64))
                guard let bytes else { throw object.corrupted(.base64, "the value is not Base64") }
                self.field = try HTTPField(checking: try object.decode(String.self, forKey: .name), value: Array(bytes))
            }
        } catch let error as CurlewError {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: error.message)
        }
    }

    func encode(to encoder: any Encoder) throws {
        let bytes = self.field.withUnsafeBytesOfValue { Array($0) }
        if let value = String(validating: bytes, as: UTF8.self) {
            var container = encoder.singleValueContainer()
            try container.encode("\(self.field.name.rawName): \(value)")
        } else {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.field.name.rawName, forKey: .name)
            try container.encode(Data(bytes).base64EncodedString(), forKey: .base64)
        }
    }
}

extension HTTPResponse.Status {
    /// `200 OK`, or `200` without a reason phrase.
    fileprivate var line: String { self.reasonPhrase.isEmpty ? "\(self.code)" : "\(self.code) \(self.reasonPhrase)" }
}

extension KeyedDecodingContainer {
    fileprivate func corrupted(_ key: Key, _ description: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: description)
    }

    fileprivate func decodeFields(_ key: Key) throws -> HTTPFields {
        var fields = HTTPFields()
        for form in try self.decodeIfPresent([FieldForm].self, forKey: key) ?? [] { fields.append(form.field) }
        return fields
    }

    fileprivate func decodeStatus(_ key: Key) throws -> HTTPResponse.Status {
        let parts = try self.decode(String.self, forKey: key).split(separator: " ", maxSplits: 1)
        guard let code = parts.first.flatMap({ Int($0) }), (100...999).contains(code) else {
            throw self.corrupted(key, "the value is not a status")
        }
        return HTTPResponse.Status(code: code, reasonPhrase: parts.dropFirst().first.map { String($0) } ?? "")
    }
}

extension KeyedEncodingContainer {
    fileprivate mutating func encode(_ fields: HTTPFields, _ key: Key) throws {
        if !fields.isEmpty { try self.encode(fields.map { FieldForm(field: $0) }, forKey: key) }
    }
}
#endif
