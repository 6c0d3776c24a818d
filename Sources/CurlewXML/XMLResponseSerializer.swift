#if XML
public import Curlew
internal import Foundation
public import XMLCoder

/// Reads XML into a `Decodable` type, by XMLCoder; needs the package's trait `XML`, which is off by default.
///
/// It takes what ``XMLTreeResponseSerializer`` takes. The document is read to its end and within the bounds of ``options``
/// before XMLCoder sees it.
public struct XMLResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(.xml, .textXML))
    /// How the document is read.
    public var options: XMLReadingOptions
    private let configure: (@Sendable (XMLDecoder) -> Void)?

    /// - Parameters:
    ///   - type: What to make of the document.
    ///   - options: How the document is read.
    ///   - configure: Sets up the decoder. Every call has a decoder of its own.
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
    /// The body as XML of a type.
    public static func xml<Model: Decodable & Sendable>(
        _ type: Model.Type, options: XMLReadingOptions = XMLReadingOptions()
    ) -> Self where Self == XMLResponseSerializer<Model> {
        XMLResponseSerializer(type, options: options)
    }
}
#else
/// Not here without the trait `XML`.
@available(
    *, unavailable, message: "XMLResponseSerializer needs Curlew's trait XML: traits: [.defaults, \"XML\"]"
)
public enum XMLResponseSerializer {}
#endif
