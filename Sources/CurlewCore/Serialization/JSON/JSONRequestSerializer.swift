/// Writes parameters as JSON.
///
/// Requests with parameters in the query are serialized by ``base``. Other requests get a JSON body, and the
/// Content-Type `application/json` unless they have one. A request without parameters gets neither.
///
/// ```swift
/// var serializer = JSONRequestSerializer()
/// serializer.style.options = [.sortedKeys]
/// serializer.base.encoder.keyNaming = .snakeCase
/// ```
public struct JSONRequestSerializer: RequestSerializer {
    /// The style of the JSON.
    public var style: JSONCoding.Style
    /// The serializer of queries. Its default fields, its methods with a query and its encoder of values apply as well.
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
    /// The serializer of parameters in this dialect; `base` writes queries. ``encoder`` is not used, because it cannot
    /// encode parameters.
    func serializer(over base: HTTPRequestSerializer) -> JSONRequestSerializer {
        var base = base
        if keys != .asWritten { base.encoder.keyNaming = keys.naming }
        var style = style
        style.options.remove(.fragmentsAllowed)
        return JSONRequestSerializer(style: style, base: base)
    }
}
