public import FoundationXML

extension XMLTree {
    /// The document in Foundation's type, for XPath and similar uses. It is made from the tree, so that libxml2 fetches
    /// nothing: `XMLDocument(data:)` on Linux reads external entities from files.
    ///
    /// Keep the document as long as any of its nodes. On Linux a node does not retain its document, and releasing the
    /// node last reads freed memory. `withExtendedLifetime` keeps the document where the compiler would release it
    /// earlier.
    public func makeDocument() -> XMLDocument { XMLDocument(rootElement: Self.element(root)) }

    private static func element(_ element: Element) -> XMLElement {
        let made = XMLElement(name: element.name.qualified)
        if let namespace = element.name.namespace { made.uri = namespace }
        for (name, value) in element.attributes.sorted(by: { $0.key < $1.key }) {
            if let attribute = XMLNode.attribute(withName: name, stringValue: value) as? XMLNode {
                made.addAttribute(attribute)
            }
        }
        for child in element.children {
            if let node = node(child) { made.addChild(node) }
        }
        return made
    }

    private static func node(_ node: Node) -> XMLNode? {
        switch node {
        case .element(let element): self.element(element)
        case .text(let text): XMLNode.text(withStringValue: text) as? XMLNode
        case .comment(let comment): XMLNode.comment(withStringValue: comment) as? XMLNode
        case .instruction(let target, let data):
            XMLNode.processingInstruction(withName: target, stringValue: data ?? "") as? XMLNode
        }
    }
}
