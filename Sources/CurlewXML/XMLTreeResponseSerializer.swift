public import Curlew

/// A serializer that reads XML into a tree.
///
/// It accepts `application/xml`, `text/xml` and every type with the suffix `+xml`. Its Accept field has
/// `application/xml` and `text/xml`. An empty body fails with ``Curlew/ErrorCode/emptyBody``.
public struct XMLTreeResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(.xml, .textXML))
    /// The options of reading.
    public var options: XMLReadingOptions

    public init(options: XMLReadingOptions = XMLReadingOptions()) { self.options = options }

    public var acceptField: String? { "application/xml, text/xml" }
    public var format: String { "XML" }

    public func decode(_ response: CurlewResponse.Collected) throws -> XMLTree {
        try XMLTreeBuilder.tree(response.xml(), options: options)
    }
}

extension ResponseSerializer where Self == XMLTreeResponseSerializer {
    /// The body as a tree of XML.
    public static var xmlTree: XMLTreeResponseSerializer { XMLTreeResponseSerializer() }
}

extension CurlewResponse.Collected {
    /// The body as XML in UTF-8.
    func xml() throws -> [UInt8] {
        guard !body.isEmpty else { throw CurlewError(.emptyBody, "there is no body, and XML needs one") }
        return try XMLSource.utf8(body, charset: mediaType?["charset"])
    }
}
