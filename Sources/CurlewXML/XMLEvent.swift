/// An event of an XML document, in document order.
public enum XMLEvent: Sendable, Hashable {
    /// An element begins.
    case start(XMLName, attributes: [String: String])
    /// An element ends.
    case end(XMLName)
    /// Text, complete between two other events, with entities replaced. CDATA sections are text.
    case text(String)
    /// A comment.
    case comment(String)
    /// A processing instruction.
    case instruction(target: String, data: String?)
}

/// The name of an element.
public struct XMLName: Sendable, Hashable, CustomStringConvertible {
    /// The name without its prefix.
    public let local: String
    /// The namespace's URI, if the element is in one.
    public let namespace: String?
    /// The name as written, with its prefix.
    public let qualified: String

    public init(_ local: String, namespace: String? = nil, qualified: String? = nil) {
        self.local = local
        self.namespace = namespace
        self.qualified = qualified ?? local
    }

    /// The name as written.
    public var description: String { qualified }
}
