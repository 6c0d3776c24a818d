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
    /// How JSON is written.
    public var style: JSONStyle
    /// What writes queries; it also has the default fields, the methods with a query and the encoder of values.
    public var base: HTTPRequestSerializer

    public init(style: JSONStyle = JSONStyle(), base: HTTPRequestSerializer = HTTPRequestSerializer()) {
        self.style = style
        self.base = base
    }

    public func serialize(_ call: ParameterizedRequest) throws -> Request {
        guard !base.placesInQuery(call) else { return try base.serialize(call) }
        var request = base.requestWithDefaults(call)
        if let value = try call.parameters.value(encodedBy: base.encoder) {
            try request.take(.bytes(value.json(style: style)), contentType: "application/json")
        }
        return request
    }
}
