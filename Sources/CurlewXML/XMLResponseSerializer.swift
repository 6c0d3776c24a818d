#if XML
public import Curlew
internal import Foundation
public import XMLCoder

/// A serializer that decodes XML into a `Decodable` type, by XMLCoder; it needs the package's trait `XML`, which is off
/// by default.
///
/// It accepts the media types of ``XMLTreeResponseSerializer``. The complete document is validated within the limits of
/// ``options`` before XMLCoder reads it.
public struct XMLResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(.xml, .textXML))
    /// The options of reading.
    public var options: XMLReadingOptions
    private let configure: (@Sendable (XMLDecoder) -> Void)?

    /// - Parameters:
    ///   - type: The type of the result.
    ///   - options: The options of reading.
    ///   - configure: Configures the decoder. Every call has its own decoder.
    public init(
        _ type: Value.Type = Value.self, options: XMLReadingOptions = XMLReadingOptions(),
        configure: (@Sendable (XMLDecoder) -> Void)? = nil
    ) {
        self.options = options
        self.configure = configure
    }

    public var acceptField: String? { "application/xml, text/xml" }
    public var format: String { "XML" }

    public func decode(_ response: CurlewResponse.Collected) throws -> Value {
        let text = try response.xml()
        try XMLEventReader.read(text, options: options) { _ in }
        let decoder = XMLDecoder()
        configure?(decoder)
        return try decoder.decode(Value.self, from: Data(text))
    }
}

extension ResponseSerializer {
    /// The body as a value decoded from XML.
    public static func xml<Model: Decodable & Sendable>(
        _ type: Model.Type, options: XMLReadingOptions = XMLReadingOptions()
    ) -> Self where Self == XMLResponseSerializer<Model> {
        XMLResponseSerializer(type, options: options)
    }
}
#else
/// Unavailable without the trait `XML`.
@available(
    *, unavailable, message: "XMLResponseSerializer needs Curlew's trait XML: traits: [.defaults, \"XML\"]"
)
public enum XMLResponseSerializer {}
#endif
