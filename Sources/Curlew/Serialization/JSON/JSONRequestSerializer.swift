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
    /// What writes parameters in this dialect; queries as another serializer does. ``encoder`` is not asked: it knows no parameters.
    func serializer(over base: HTTPRequestSerializer) -> JSONRequestSerializer {
        var base = base
        if keys != .asWritten { base.encoder.keyNaming = keys.naming }
        var style = style
        style.options.remove(.fragmentsAllowed)
        return JSONRequestSerializer(style: style, base: base)
    }
}
