/// Scans the tags of an XML text for their nesting depth, and for names that dictionaries of Swift cannot hold. It is
/// not an XML parser: the parser that reads the text afterwards finds malformed parts.
package struct XMLTagScan {
    /// The reader of the text after the scan. The scan finds the same tags as this reader.
    package enum Reader {
        /// An XML parser. A tag ends at the first `>` outside of quotes. The names of attributes become keys of
        /// dictionaries.
        case xmlParser
        /// Foundation's reader of property lists. A tag ends at the first `>`: with the other rule an unclosed quote
        /// would hide tags that Foundation reads. The texts of elements named `key` become keys of dictionaries.
        case propertyLists
    }

    /// A tag after its `<`.
    private struct Tag {
        /// The bytes from the name to the `>`.
        var content: ArraySlice<UInt8>
        /// True for the tag of an empty element.
        var isEmpty = false
        /// True if a byte outside of quotes is not ASCII.
        var hasNonASCIIName = false
    }

    private let bytes: [UInt8]
    private let reader: Reader
    private var position = 0
    /// The open elements: the keys of a dictionary of a property list, nil for every other element.
    private var open: [CanonicalNames?] = []

    private init(bytes: [UInt8], reader: Reader) {
        self.bytes = bytes
        self.reader = reader
    }

    /// Checks a text in UTF-8.
    /// - Parameters:
    ///   - bytes: The text.
    ///   - maximumDepth: The largest depth of elements.
    ///   - reader: The reader of the text after the scan.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed``, also for a document type with declarations of its
    ///   own, for names with long runs of combining marks, and for names that are canonically equal.
    package static func check(_ bytes: [UInt8], maximumDepth: Int, reader: Reader) throws {
        if reader == .xmlParser { try XMLNameScan.check(bytes) }
        var scan = XMLTagScan(bytes: bytes, reader: reader)
        try scan.run(maximumDepth: maximumDepth)
    }

    private mutating func run(maximumDepth: Int) throws {
        while let start = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = start + 1
            if skips("!--", to: "-->") || skips("![CDATA[", to: "]]>") { continue }
            if next == .questionMark {
                try skipInstruction()
                continue
            }
            let isDeclaration = next == UInt8(ascii: "!")
            let isEnd = next == .slash
            let tag = try skipTag(isDeclaration: isDeclaration)
            if isEnd { _ = open.popLast() }
            if isDeclaration || isEnd { continue }
            let keys = try checkNames(in: tag)
            if tag.isEmpty { continue }
            open.append(keys)
            guard open.count <= maximumDepth else {
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

    /// Skips a processing instruction, which must have a name.
    ///
    /// Without one, readers find tags that the scan would skip. Foundation's reader of property lists ends `<?>` at its
    /// first `>` (Swift 6.3), and libxml2 continues after `<?`.
    private mutating func skipInstruction() throws {
        guard position + 1 < bytes.count, Self.beginsName(bytes[position + 1]) else {
            throw Self.fault("a processing instruction has no name")
        }
        _ = skips("?", to: "?>")
    }

    private static func beginsName(_ byte: UInt8) -> Bool {
        byte.isLetter || byte == UInt8(ascii: "_") || byte == .colon || byte >= 0x80
    }

    /// Skips to the end of a tag.
    private mutating func skipTag(isDeclaration: Bool) throws -> Tag {
        let start = position
        var tag = Tag(content: [])
        var quote: UInt8?
        while let byte = next {
            position += 1
            if let mark = quote {
                if byte == mark { quote = nil }
            } else if reader == .xmlParser, byte == .quote || byte == UInt8(ascii: "'") {
                quote = byte
            } else if isDeclaration, byte == .openBracket {
                throw Self.fault("the document has declarations of its own, and these are not allowed")
            } else if byte == UInt8(ascii: ">") {
                tag.isEmpty = bytes[position - 2] == .slash
                break
            } else if byte >= 0x80 {
                tag.hasNonASCIIName = true
            }
        }
        tag.content = bytes[start..<position]
        return tag
    }
}

// MARK: Names

extension XMLTagScan {
    /// Checks the names that a start tag adds to a dictionary.
    /// - Returns: The empty set of keys, if the tag begins a dictionary of a property list.
    private mutating func checkNames(in tag: Tag) throws -> CanonicalNames? {
        switch reader {
        case .xmlParser:
            if tag.hasNonASCIIName { try Self.checkAttributes(tag.content) }
            return nil
        case .propertyLists:
            let name = tag.content.prefix { !Self.endsName($0) }
            if name.elementsEqual("dict".utf8) { return CanonicalNames() }
            guard name.elementsEqual("key".utf8) else { return nil }
            // Foundation takes the empty tag of a key for a start tag (Swift 6.3). Its end tag would hide a level.
            guard !tag.isEmpty else { throw Self.fault("a key is written as an empty tag") }
            let key = keyText()
            if !open.isEmpty { try open[open.count - 1]?.insert(key) }
            return nil
        }
    }

    private static func endsName(_ byte: UInt8) -> Bool {
        switch byte {
        case .space, .tab, .lineFeed, .carriageReturn, .slash, .equals, UInt8(ascii: ">"): true
        default: false
        }
    }

    /// Checks the names of the attributes of a tag.
    private static func checkAttributes(_ tag: ArraySlice<UInt8>) throws {
        var quote: UInt8?
        let words = tag.map { byte -> UInt8 in
            if let mark = quote {
                if byte == mark { quote = nil }
                return .space
            }
            guard byte == .quote || byte == UInt8(ascii: "'") else { return byte }
            quote = byte
            return .space
        }.split(whereSeparator: endsName)
        var names = CanonicalNames()
        // The first word is the name of the element.
        for word in words.dropFirst() { try names.insert(String(decoding: word, as: UTF8.self)) }
    }

    /// The text of a key from its start tag to the next tag, as Foundation reads it.
    private func keyText() -> String {
        var text: [UInt8] = []
        var rest = bytes[position...]
        while true {
            let plain = rest.prefix { $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "&") }
            text += plain
            rest = rest[plain.endIndex...]
            if rest.first == UInt8(ascii: "&") {
                text += Self.character(ofReference: &rest)
            } else if rest.starts(with: "<![CDATA[".utf8) {
                rest = rest.dropFirst(9)
                while let byte = rest.first, !rest.starts(with: "]]>".utf8) {
                    text.append(byte)
                    rest = rest.dropFirst()
                }
                rest = rest.dropFirst(3)
            } else {
                return String(decoding: text, as: UTF8.self)
            }
        }
    }

    /// Removes a reference from the beginning of a text.
    /// - Returns: Its character in UTF-8, or U+FFFD for a reference that Foundation rejects.
    private static func character(ofReference rest: inout ArraySlice<UInt8>) -> [UInt8] {
        // Foundation accepts at most eight digits. The names of characters are shorter.
        let reference = rest.dropFirst().prefix(11).prefix { $0 != .semicolon }
        rest = rest.dropFirst(reference.count + 2)
        let name = String(decoding: reference, as: UTF8.self)
        let value: UInt32? =
            switch name {
            case "lt": 0x3C
            case "gt": 0x3E
            case "amp": 0x26
            case "apos": 0x27
            case "quot": 0x22
            case let name where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16)
            default: UInt32(name.dropFirst())
            }
        let scalar = value.flatMap { Unicode.Scalar($0) } ?? "\u{FFFD}"
        return Array(String(scalar).utf8)
    }
}
