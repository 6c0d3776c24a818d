/// Follows the tags of a text in XML as far as is needed to know how deep they are nested. It is no XML parser: the one that
/// comes after it finds what is malformed.
struct XMLTagScan {
    let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func run(maximumDepth: Int) throws {
        while let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = start + 1
            if skips("!--", to: "-->") || skips("![CDATA[", to: "]]>") || skips("?", to: "?>") { continue }
            let isDeclaration = next == UInt8(ascii: "!")
            let isEnd = next == .slash
            let isEmpty = try skipTag(isDeclaration: isDeclaration)
            if isEnd { depth -= 1 }
            if isDeclaration || isEnd || isEmpty { continue }
            depth += 1
            guard depth <= maximumDepth else {
                throw PropertyListCheck.fault("it is nested more than \(maximumDepth) deep")
            }
        }
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips a section, if one begins here. One that does not end reaches to the end of the text.
    private mutating func skips(_ opening: String, to closing: String) -> Bool {
        guard bytes[position...].starts(with: opening.utf8) else { return false }
        position += opening.utf8.count
        let closing = Array(closing.utf8)
        while position < bytes.count, !bytes[position...].starts(with: closing) { position += 1 }
        position = min(position + closing.count, bytes.count)
        return true
    }

    /// Skips to the end of a tag.
    /// - Returns: Whether it is the tag of an empty element.
    private mutating func skipTag(isDeclaration: Bool) throws -> Bool {
        var quote: UInt8?
        while let byte = next {
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == .quote || byte == UInt8(ascii: "'") {
                quote = byte
            } else if isDeclaration, byte == .openBracket {
                throw PropertyListCheck.fault("it has declarations of its own")
            } else if byte == UInt8(ascii: ">") {
                return bytes[position - 2] == .slash
            }
        }
        return false
    }
}
