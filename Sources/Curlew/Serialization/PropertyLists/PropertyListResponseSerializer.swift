public import FoundationEssentials

/// Reads a property list, XML or binary, into a `Decodable` type.
///
/// It takes `application/x-plist` by default. Before it is decoded the list is checked:
/// depth, declarations in XML, and in the binary form references that go in circles or grow without measure.
///
/// An empty body is nil for an optional type, ``NoContent`` for that, and ``ErrorCode/emptyBody`` for any other type.
public struct PropertyListResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(.propertyList))
    /// Bounds on the list.
    public var options: PropertyListReadingOptions
    private let configure: (@Sendable (PropertyListDecoder) -> Void)?

    /// - Parameters:
    ///   - type: What to make of the list.
    ///   - options: Bounds on the list.
    ///   - configure: Sets up the decoder. Every call has a decoder of its own.
    public init(
        _ type: Value.Type = Value.self, options: PropertyListReadingOptions = PropertyListReadingOptions(),
        configure: (@Sendable (PropertyListDecoder) -> Void)? = nil
    ) {
        self.options = options
        self.configure = configure
    }

    public var format: String { "a property list" }

    public func decode(_ response: CollectedResponse) throws -> Value {
        guard !response.body.isEmpty else {
            guard let value = emptyBody(for: Value.self) else {
                throw CurlewError(.emptyBody, "there is no body, and the type that was asked for needs one")
            }
            return value
        }
        try PropertyListCheck.check(response.body, options: options)
        let decoder = PropertyListDecoder()
        configure?(decoder)
        return try decoder.decode(Value.self, from: Data(response.body))
    }
}

extension ResponseSerializer {
    /// The body as a property list of a type.
    public static func propertyList<Model: Decodable & Sendable>(
        _ type: Model.Type, options: PropertyListReadingOptions = PropertyListReadingOptions()
    ) -> Self where Self == PropertyListResponseSerializer<Model> {
        PropertyListResponseSerializer(type, options: options)
    }
}
