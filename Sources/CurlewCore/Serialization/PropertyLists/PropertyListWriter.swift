internal import FoundationEssentials

/// Writes a tree of parameters as a property list in XML, in Foundation's format: keys sorted, a tab for each level.
///
/// Foundation's own encoder writes characters that XML parsers refuse, and carriage returns that parsers turn into line
/// feeds (swift-foundation of Swift 6.3).
struct PropertyListWriter {
    private(set) var output: [UInt8] = []
    private var depth = 0
    private var isXML = true

    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    /// - Parameter isXML: True if the text must be XML; otherwise the limits of XML do not apply.
    mutating func write(_ value: ParameterValue, forXML isXML: Bool) throws(ParameterFailure) {
        switch value {
        case .array, .dictionary, .set: break
        case .null, .boolean, .number, .string, .data, .date:
            throw ParameterFailure("must be a dictionary or a list in a property list")
        }
        self.isXML = isXML
        output += Self.head.utf8
        try append(value)
        output += "</plist>\n".utf8
    }

    private mutating func append(_ value: ParameterValue) throws(ParameterFailure) {
        switch value {
        case .null: throw ParameterFailure("is null, for which property lists have no notation")
        case .boolean(let value): line(value ? "<true/>" : "<false/>")
        case .number(let number): try append(number)
        case .string(let text): try element("string", text)
        case .data(let bytes): append(bytes)
        case .date(let date): try append(date)
        case .array(let values): try append(values) { .index($0) }
        case .set(let members): try append(members.inOrder()) { _ in .member }
        case .dictionary(let dictionary): try append(dictionary)
        }
    }

    private mutating func append(_ number: ParameterValue.Number) throws(ParameterFailure) {
        let value = number.double
        switch number.kind {
        case .integer, .unsigned: line("<integer>\(number)</integer>")
        case .decimal:
            guard isXML || value.isFinite else { throw ParameterFailure("is a number too large for the binary form") }
            line("<real>\(number)</real>")
        case .double, .float:
            let text = value.isNaN ? "nan" : value.isInfinite ? (value > 0 ? "+infinity" : "-infinity") : "\(number)"
            line("<real>\(text)</real>")
        }
    }

    private mutating func append(_ date: Date) throws(ParameterFailure) {
        guard isXML else {
            guard date.timeIntervalSince1970.isFinite else { throw ParameterFailure("is a date that is not a number") }
            return
        }
        line("<date>\(try CalendarDate(date).iso8601)</date>")
    }

    /// Appends data in lines of at most 76 columns, as Foundation does.
    private mutating func append(_ bytes: [UInt8]) {
        let perLine = max(3, (76 - min(depth, 8) * 8) / 4 * 3)
        line("<data>")
        for start in stride(from: 0, to: bytes.count, by: perLine) {
            line(Data(bytes[start..<min(start + perLine, bytes.count)]).base64EncodedString())
        }
        line("</data>")
    }

    private mutating func append(
        _ values: [ParameterValue], component: (Int) -> ParameterFailure.Component
    ) throws(ParameterFailure) {
        guard !values.isEmpty else { return line("<array/>") }
        try open("<array>")
        for (index, value) in values.enumerated() {
            do { try append(value) } catch { throw error.inside(component(index)) }
        }
        close("</array>")
    }

    private mutating func append(_ dictionary: ParameterValue.Object) throws(ParameterFailure) {
        guard !dictionary.isEmpty else { return line("<dict/>") }
        try open("<dict>")
        let order = dictionary.sortedPositions()
        for place in dictionary.indices {
            let (key, value) = dictionary[order?[place] ?? place]
            do {
                try element("key", key)
                try append(value)
            } catch { throw error.inside(.key(key)) }
        }
        close("</dict>")
    }

    private mutating func element(_ name: String, _ text: String) throws(ParameterFailure) {
        indent()
        output += "<\(name)>".utf8
        try XMLText.append(text, isChecked: isXML, to: &output)
        output += "</\(name)>\n".utf8
    }

    private mutating func open(_ tag: String) throws(ParameterFailure) {
        line(tag)
        depth += 1
        guard depth <= ParameterValue.depthLimit else { throw .tooDeep }
    }

    private mutating func close(_ tag: String) {
        depth -= 1
        line(tag)
    }

    private mutating func line(_ text: String) {
        indent()
        output += text.utf8
        output.append(.lineFeed)
    }

    private mutating func indent() { output.append(contentsOf: repeatElement(.tab, count: depth)) }
}

/// The text between the tags of XML 1.0.
private enum XMLText {
    /// Appends the text with `&`, `<`, `>` and carriage returns escaped. A bare carriage return would be read as a line
    /// feed.
    /// - Parameter isChecked: True to refuse characters that XML 1.0 does not allow (§2.2).
    static func append(_ text: String, isChecked: Bool, to output: inout [UInt8]) throws(ParameterFailure) {
        if isChecked, !text.unicodeScalars.allSatisfy(isCharacter) {
            throw ParameterFailure("holds a character that XML does not know")
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): output += "&amp;".utf8
            case UInt8(ascii: "<"): output += "&lt;".utf8
            case UInt8(ascii: ">"): output += "&gt;".utf8
            case .carriageReturn: output += "&#13;".utf8
            default: output.append(byte)
            }
        }
    }

    private static func isCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20...0xFFFD, 0x10000...: true
        default: false
        }
    }
}
