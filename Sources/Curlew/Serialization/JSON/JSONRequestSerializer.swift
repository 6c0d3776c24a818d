/// Writes parameters as JSON.
///
/// Methods that have their parameters in the query are served by ``base``. Others get a body of JSON with the Content-Type
/// `application/json`, unless the request has a Content-Type. Without parameters there is neither.
///
/// ```swift
/// var serializer = JSONRequestSerializer()
/// serializer.style.options = [.sortedKeys]
/// serializer.base.encoder.keyNaming = .snakeCase
/// ```
public struct JSONRequestSerializer: RequestSerializer {
    /// The style in which JSON is written.
    public var style: JSONCoding.Style
    /// The serializer of queries; it also has the default fields, the methods with a query and the encoder of values.
    public var base: HTTPRequestSerializer

    public init(style: JSONCoding.Style = JSONCoding.Style(), base: HTTPRequestSerializer = HTTPRequestSerializer()) {
        self.style = style
        self.base = base
    }

    public func serialize(_ call: ParameterizedRequest) throws -> CurlewRequest {
        guard !base.placesInQuery(call) else { return try base.serialize(call) }
        var request = base.requestWithDefaults(call)
        if let json = try call.parameters.json(JSONEncoding(encoder: base.encoder, style: style)) {
            try request.take(.bytes(json), contentType: "application/json")
        }
        return request
    }
}

extension JSONCoding {
    /// The style in which parameters are written as JSON (RFC 8259), always in UTF-8.
    ///
    /// ```swift
    /// var style = JSONCoding.Style()
    /// style.options = [.sortedKeys, .withoutEscapingSlashes]
    /// ```
    public struct Style: Sendable {
        /// Options of the text.
        public struct Options: OptionSet, Sendable, Hashable {
            public let rawValue: Int

            public init(rawValue: Int) { self.rawValue = rawValue }

            /// Keys ascending by their UTF-8 bytes. Without it they stand as they were put in, or encoded.
            public static let sortedKeys = Options(rawValue: 1)
            /// Lines and indentation for human readers.
            public static let prettyPrinted = Options(rawValue: 2)
            /// `/` stands as it is. Without it it is written `\/`, as AFNetworking does by default.
            public static let withoutEscapingSlashes = Options(rawValue: 4)
            /// The top may be something else than a dictionary or a list.
            public static let fragmentsAllowed = Options(rawValue: 8)
        }

        /// The options of the text. None by default.
        public var options: Options = []
        /// The form in which points in time are written. ``RequestParameters/Style/DateStyle/iso8601`` by default.
        public var dates = RequestParameters.Style.DateStyle.iso8601
        /// The form in which bytes are written. ``RequestParameters/Style/DataStyle/base64`` by default.
        public var data = RequestParameters.Style.DataStyle.base64
        /// The treatment of infinity and NaN. ``RequestParameters/Style/NonFiniteStyle/refused`` by default.
        public var nonFinite = RequestParameters.Style.NonFiniteStyle.refused

        public init() {}
    }
}

extension ParameterValue {
    /// The tree as JSON. A set becomes a list, sorted by what its members are described as.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``: a number is not finite, the tree is too deep, a date
    ///   cannot be written, or the top is neither a dictionary nor a list.
    public func json(style: JSONCoding.Style = JSONCoding.Style()) throws -> [UInt8] {
        var writer = JSONWriter(style: style)
        do throws(ParameterFailure) { try writer.write(self) } catch { throw error.error }
        return writer.output
    }
}
