internal import Curlew

/// An XML document as a tree of values.
public struct XMLTree: Sendable, Hashable {
    /// An element: its name, its attributes and its contents.
    public struct Element: Sendable, Hashable {
        /// The name of the element.
        public var name: XMLName
        /// The attributes by their names as written, without namespace declarations.
        public var attributes: [String: String]
        /// The child nodes, in order.
        public var children: [Node]

        public init(_ name: XMLName, attributes: [String: String] = [:], children: [Node] = []) {
            self.name = name
            self.attributes = attributes
            self.children = children
        }

        /// The child elements.
        public var elements: [Element] {
            children.compactMap { if case .element(let element) = $0 { element } else { nil } }
        }

        /// The text of all descendants, concatenated.
        public var text: String {
            children.reduce(into: "") { text, child in
                switch child {
                case .element(let element): text += element.text
                case .text(let part): text += part
                case .comment, .instruction: break
                }
            }
        }

        /// The first child element with this local name.
        public subscript(name: String) -> Element? { elements.first { $0.name.local == name } }

        /// The child elements with this local name.
        public func all(_ name: String) -> [Element] { elements.filter { $0.name.local == name } }
    }

    /// A node inside an element.
    public enum Node: Sendable, Hashable {
        /// An element.
        case element(Element)
        /// Text.
        case text(String)
        /// A comment.
        case comment(String)
        /// A processing instruction.
        case instruction(target: String, data: String?)
    }

    /// The root element.
    public var root: Element

    public init(root: Element) { self.root = root }

    /// Reads a document.
    /// - Parameters:
    ///   - bytes: The document in UTF-8, UTF-16, UTF-32, US-ASCII, ISO-8859-1 or windows-1252.
    ///   - options: The options of reading.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed``.
    public init(parsing bytes: [UInt8], options: XMLReadingOptions = XMLReadingOptions()) throws {
        self = try XMLTreeBuilder.tree(XMLSource.utf8(bytes), options: options)
    }
}

/// A builder that makes a tree from events.
enum XMLTreeBuilder {
    static func tree(_ utf8: [UInt8], options: XMLReadingOptions) throws -> XMLTree {
        var open: [XMLTree.Element] = []
        var root: XMLTree.Element?
        try XMLEventReader.read(utf8, options: options) { event in
            switch event {
            case .start(let name, let attributes): open.append(XMLTree.Element(name, attributes: attributes))
            case .end:
                guard let element = open.popLast() else { return }
                if open.isEmpty { root = element } else { add(.element(element), to: &open) }
            case .text(let text): add(.text(text), to: &open)
            case .comment(let comment): add(.comment(comment), to: &open)
            case .instruction(let target, let data): add(.instruction(target: target, data: data), to: &open)
            }
        }
        guard let root else { throw CurlewError(.decodingFailed, "the XML has no element") }
        return XMLTree(root: root)
    }

    /// Adds a node to the innermost open element; a node outside the root is dropped.
    private static func add(_ node: XMLTree.Node, to open: inout [XMLTree.Element]) {
        guard !open.isEmpty else { return }
        open[open.count - 1].children.append(node)
    }
}
