public import HTTPTypes

/// A media type with its parameters, the value of Content-Type (RFC 9110 §8.3.1).
///
/// Type, subtype and parameter names are stored in lower case. Parsing follows the rules of browsers (WHATWG MIME
/// Sniffing §4.4): type and subtype must be tokens, an unreadable parameter is skipped, and the first of several
/// parameters with one name is used.
///
/// ```swift
/// let type = ContentType("application/problem+json; charset=UTF-8")
/// type?.essence  // application/problem+json
/// type?.suffix   // json
/// type?["charset"]  // UTF-8
/// ```
public struct ContentType: Sendable, Hashable, CustomStringConvertible {
    /// A name and a value after a semicolon.
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value without quotes.
        public let value: String

        public init(_ name: String, _ value: String) {
            self.name = name.lowercased()
            self.value = value
        }
    }

    /// The part before the slash, such as `application`; `*` in a range.
    public let type: String
    /// The part after the slash, such as `problem+json`; `*` in a range.
    public let subtype: String
    /// The parameters in their order, each name once, at most ``parameterLimit``.
    public let parameters: [Parameter]

    /// The most parameters that are kept; further ones are ignored.
    public static let parameterLimit = 32

    /// Makes a media type from its parts.
    public init(_ type: String, _ subtype: String, parameters: [Parameter] = []) {
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        self.parameters = Array(parameters.prefix(Self.parameterLimit))
    }

    /// Parses the value of a field. nil if it does not begin with a type and a subtype.
    public init?(_ text: String) {
        guard let type = MediaTypeParser.mediaType(in: Array(text.utf8)) else { return nil }
        self = type
    }

    /// Parses Content-Type.
    ///
    /// Of several values, in separate fields or separated by commas, the last valid media type is used, as in the Fetch
    /// standard. A value without `charset` has the charset of the first of the consecutive values with the same
    /// essence. nil without a valid media type.
    public init?(contentTypeOf fields: HTTPFields) {
        let value = fields[values: .contentType].joined(separator: ", ")
        var last: ContentType?
        var charset: Parameter?
        for part in MediaTypeParser.parts(of: Array(value.utf8)) {
            guard var type = MediaTypeParser.mediaType(in: part), type.essence != "*/*" else { continue }
            let ownCharset = type.parameters.first { $0.name == "charset" }
            if type.essence != last?.essence {
                charset = ownCharset
            } else if ownCharset == nil, let charset {
                type = ContentType(type.type, type.subtype, parameters: type.parameters + [charset])
            }
            last = type
        }
        guard let last else { return nil }
        self = last
    }

    /// Type and subtype without parameters.
    public var essence: String { "\(type)/\(subtype)" }

    /// The part after the last plus of the subtype (RFC 6838 §4.2.8): the underlying syntax, such as `json` or `xml`.
    public var suffix: String? {
        guard let plus = subtype.lastIndex(of: "+") else { return nil }
        let suffix = subtype[subtype.index(after: plus)...]
        return suffix.isEmpty ? nil : String(suffix)
    }

    /// The value of a parameter.
    /// - Parameter name: The parameter's name, in any case.
    public subscript(name: String) -> String? {
        let name = name.lowercased()
        return parameters.first { $0.name == name }?.value
    }

    /// The type as the value of a field; parameter values that are not tokens are quoted.
    public var description: String {
        parameters.reduce(into: essence) { text, parameter in
            text += "; \(parameter.name)=\(MediaTypeParser.quotedIfNeeded(parameter.value))"
        }
    }

    /// True if the type is within a range.
    ///
    /// A range is `*/*`, `image/*`, or a type. `application/json` as a range contains every type with the suffix
    /// `+json`; the same holds for other suffixes. The type must have the parameters of the range, with values equal
    /// except for case; `q` is ignored.
    public func matches(_ range: ContentType) -> Bool {
        guard matchesEssence(of: range) else { return false }
        return range.parameters.allSatisfy { parameter in
            parameter.name == "q"
                || self[parameter.name]?.lowercased().hasSameBytes(as: parameter.value.lowercased()) == true
        }
    }

    private func matchesEssence(of range: ContentType) -> Bool {
        if range.type == "*" { return range.subtype == "*" }
        if range.subtype == "*" { return range.type == type }
        if range.type == type, range.subtype == subtype { return true }
        return range.suffix == nil && suffix == range.subtype
    }
}

extension ContentType {
    /// `application/json`.
    public static let json = ContentType("application", "json")
    /// `text/json`.
    public static let textJSON = ContentType("text", "json")
    /// `text/javascript`.
    public static let javaScript = ContentType("text", "javascript")
    /// `application/xml`.
    public static let xml = ContentType("application", "xml")
    /// `text/xml`.
    public static let textXML = ContentType("text", "xml")
    /// `application/x-plist`.
    public static let propertyList = ContentType("application", "x-plist")
    /// `text/event-stream`.
    public static let eventStream = ContentType("text", "event-stream")
    /// `text/plain`.
    public static let plainText = ContentType("text", "plain")
    /// `text/html`.
    public static let html = ContentType("text", "html")
}

/// A parser for media types (WHATWG MIME Sniffing §4.4). It accepts any bytes.
package enum MediaTypeParser {
    /// The media type of the bytes; nil if they are not a media type.
    package static func mediaType(in bytes: some Collection<UInt8>) -> ContentType? {
        var reader = FieldValueReader(bytes)
        reader.skipSpace()
        guard let type = reader.token(), reader.take(.slash), let subtype = reader.token() else { return nil }
        reader.skipSpace()
        guard reader.isAtEnd || reader.next == .semicolon else { return nil }
        return ContentType(type, subtype, parameters: parameters(&reader))
    }

    /// The parameters after the first value: a semicolon, a name and a value for each.
    /// - Parameters:
    ///   - reader: The text, at the end of the first value.
    ///   - allowsSpace: True if spaces may surround the equals sign. Content-Type forbids them. Content-Disposition
    ///     allows them (RFC 6266 §4.1, by the implied white space of RFC 2616).
    static func parameters(
        _ reader: inout FieldValueReader, allowsSpace: Bool = false
    ) -> [ContentType.Parameter] {
        var parameters: [ContentType.Parameter] = []
        while !reader.isAtEnd, parameters.count < ContentType.parameterLimit {
            reader.skip { $0 != .semicolon }
            guard reader.take(.semicolon) else { break }
            reader.skipSpace()
            let name = reader.token()?.lowercased()
            if allowsSpace { reader.skipSpace() }
            let isToken = reader.next == .equals
            // The value of a name that is not a token is skipped too: it may contain a semicolon in quotes.
            reader.skip { $0 != .equals && $0 != .semicolon }
            guard reader.take(.equals) else { continue }
            if allowsSpace { reader.skipSpace() }
            let value = reader.next == .quote ? reader.quotedString() : reader.bareValue()
            guard isToken, let name, let value, !parameters.contains(where: { $0.name == name }) else { continue }
            parameters.append(ContentType.Parameter(name, value))
        }
        return parameters
    }

    /// The members of a list: the parts between commas outside quotes.
    package static func parts(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        var isQuoted = false
        var isEscaped = false
        for (index, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == .backslash {
                isEscaped = true
            } else if byte == .quote {
                isQuoted.toggle()
            } else if byte == .comma, !isQuoted {
                parts.append(bytes[start..<index])
                start = index + 1
            }
        }
        parts.append(bytes[start...])
        return parts
    }

    /// The text in the form for use after an equals sign: a token unchanged, other text in quotes.
    static func quotedIfNeeded(_ text: String) -> String {
        if !text.isEmpty, text.utf8.allSatisfy(\.isTokenByte) { return text }
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
