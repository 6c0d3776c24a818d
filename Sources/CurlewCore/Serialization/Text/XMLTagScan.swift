/// Scans the tags of an XML text for their nesting depth. It is not an XML parser: the parser that reads the text
/// afterwards finds malformed parts.
package struct XMLTagScan {
    /// The rule for the end of a tag, which depends on the reader of the text.
    package enum TagEnd {
        /// The first `>` outside of quotes: the rule of XML.
        case outsideQuotes
        /// The first `>`: the rule of Foundation's reader of property lists. With the other rule an unclosed quote
        /// would hide tags that Foundation reads.
        case first
    }

    private let bytes: [UInt8]
    private let tagEnd: TagEnd
    private var position = 0
    private var depth = 0

    private init(bytes: [UInt8], tagEnd: TagEnd) {
        self.bytes = bytes
        self.tagEnd = tagEnd
    }

    /// Checks a text in UTF-8.
    /// - Parameters:
    ///   - bytes: The text.
    ///   - maximumDepth: The largest depth of elements.
    ///   - tagEnd: The rule for the end of a tag.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed``, also for a document type with declarations of its
    ///   own.
    package static func check(_ bytes: [UInt8], maximumDepth: Int, tagEnd: TagEnd) throws {
        var scan = XMLTagScan(bytes: bytes, tagEnd: tagEnd)
        try scan.run(maximumDepth: maximumDepth)
    }

    private mutating func run(maximumDepth: Int) throws {
        while let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = start + 1
            if skips("!--", to: "-->") || skips("![CDATA[", to: "]]>") || skips("?", to: "?>") { continue }
            let isDeclaration = next == UInt8(ascii: "!")
            let isEnd = next == .slash
            let isEmpty = try skipTag(isDeclaration: isDeclaration)
            if isEnd { depth = max(0, depth - 1) }
            if isDeclaration || isEnd || isEmpty { continue }
            depth += 1
            guard depth <= maximumDepth else {
                throw Self.fault("elements are nested more than \(maximumDepth) deep")
            }
        }
    }

    private static func fault(_ message: String) -> CurlewError { CurlewError(.decodingFailed, message) }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips a section, if one begins here. A section without an end extends to the end of the text.
    private mutating func skips(_ opening: String, to closing: String) -> Bool {
        guard bytes[position...].starts(with: opening.utf8) else { return false }
        position += opening.utf8.count
        let closing = Array(closing.utf8)
        while position < bytes.count, !bytes[position...].starts(with: closing) { position += 1 }
        position = min(position + closing.count, bytes.count)
        return true
    }

    /// Skips to the end of a tag.
    /// - Returns: True if the tag is that of an empty element.
    private mutating func skipTag(isDeclaration: Bool) throws -> Bool {
        var quote: UInt8?
        while let byte = next {
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if tagEnd == .outsideQuotes, byte == .quote || byte == UInt8(ascii: "'") {
                quote = byte
            } else if isDeclaration, byte == .openBracket {
                throw Self.fault("the document has declarations of its own, and these are not allowed")
            } else if byte == UInt8(ascii: ">") {
                return bytes[position - 2] == .slash
            }
        }
        return false
    }
}
