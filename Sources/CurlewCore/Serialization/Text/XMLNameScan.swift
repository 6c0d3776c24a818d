/// Scans an XML text for names with long runs of combining marks.
///
/// The scan does not follow the structure of the text. Foundation's parser continues after an error, so a malformed
/// text can have tags in places where a well-formed one has comments or values. In every text the name of an element
/// follows `<` or `</`, and an equals sign follows the name of an attribute.
struct XMLNameScan {
    private var marks = 0
    /// True if the last word has a long run of marks.
    private var isLong = false
    /// True within a word that begins a tag.
    private var isTagName = false
    private var isAfterBlank = false

    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for a name that
    ///   ``JSONCoding/ReadingOptions/combiningMarkLimit`` rejects.
    static func check(_ utf8: [UInt8]) throws {
        guard hasLongRun(utf8) else { return }
        var scan = XMLNameScan()
        for scalar in String(decoding: utf8, as: UTF8.self).unicodeScalars { try scan.read(scalar) }
    }

    /// True if the text has enough bytes in a row for a long run of marks. Each mark has two or more bytes, none of
    /// them ASCII.
    private static func hasLongRun(_ utf8: [UInt8]) -> Bool {
        var run = 0
        for byte in utf8 {
            run = byte >= 0x80 ? run + 1 : 0
            if run > 2 * JSONCoding.ReadingOptions.combiningMarkLimit { return true }
        }
        return false
    }

    private mutating func read(_ scalar: Unicode.Scalar) throws {
        switch scalar {
        case "<": endWord(isTagName: true)
        case "/": endWord(isTagName: isTagName)
        case "=":
            guard !isLong else { throw CanonicalNames.longRun }
            endWord(isTagName: false)
        case ">", "\"", "'", "!": endWord(isTagName: false)
        case " ", "\t", "\n", "\r":
            // An equals sign may still follow.
            marks = 0
            isTagName = false
            isAfterBlank = true
        default: try readPart(scalar)
        }
    }

    private mutating func endWord(isTagName: Bool) {
        marks = 0
        isLong = false
        isAfterBlank = false
        self.isTagName = isTagName
    }

    private mutating func readPart(_ scalar: Unicode.Scalar) throws {
        if isAfterBlank { endWord(isTagName: false) }
        marks = scalar.isCombiningMark ? marks + 1 : 0
        guard marks > JSONCoding.ReadingOptions.combiningMarkLimit else { return }
        guard !isTagName else { throw CanonicalNames.longRun }
        isLong = true
    }
}
