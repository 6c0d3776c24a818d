/// Reads JSON (RFC 8259) from UTF-8 that has been checked, into a tree or only to see whether it is JSON.
package struct JSONParser {
    let bytes: [UInt8]
    let options: JSONReadingOptions
    /// Whether values are made; if not, the text is only checked.
    let builds: Bool
    var position = 0
    /// Whether the last string was ASCII without escapes.
    var isLastStringPlain = true

    private init(_ bytes: [UInt8], _ options: JSONReadingOptions, builds: Bool) {
        self.bytes = bytes
        self.options = options
        self.builds = builds
    }

    /// Reads a text of any Unicode encoding into a tree.
    package static func parse(_ bytes: [UInt8], options: JSONReadingOptions) throws -> JSONValue {
        var parser = try JSONParser(JSONSource.utf8(bytes), options, builds: true)
        let value = try parser.document()
        return options.removesKeysWithNullValues ? value.removingNulls() : value
    }

    /// Checks a text that is UTF-8.
    static func check(_ utf8: [UInt8], options: JSONReadingOptions) throws {
        var parser = JSONParser(utf8, options, builds: false)
        _ = try parser.document()
    }

    private mutating func document() throws -> JSONValue {
        skipSpace()
        guard let first = next else { throw fault("there is no value") }
        guard options.allowsFragments || first == .openBrace || first == .openBracket else {
            throw fault("the value is neither an object nor an array, and fragments are not allowed")
        }
        let value = try value()
        skipSpace()
        guard position == bytes.count else { throw fault("something follows the value") }
        return value
    }

    /// An array or object whose end has not come yet.
    private struct Open {
        let isObject: Bool
        var values: [JSONValue] = []
        var object = JSONObject()
        /// The name of the member that is being read, and where it stands.
        var key = ""
        var keyPosition = 0

        var value: JSONValue { isObject ? .object(object) : .array(values) }
    }

    /// A value with all that stands in it. What is open is kept in a list, so that depth costs no stack.
    private mutating func value() throws -> JSONValue {
        var open: [Open] = []
        while true {
            var value: JSONValue
            switch next {
            case UInt8.openBracket, UInt8.openBrace:
                guard let empty = try enter(&open) else { continue }
                value = empty
            default: value = try scalar()
            }
            while true {
                guard !open.isEmpty else { return value }
                try add(value, to: &open[open.count - 1])
                skipSpace()
                if take(.comma) {
                    skipSpace()
                    try beginMember(of: &open[open.count - 1])
                    break
                }
                try leave(open[open.count - 1])
                value = open.removeLast().value
            }
        }
    }

    private mutating func scalar() throws -> JSONValue {
        switch next {
        case UInt8.quote: .string(try string())
        case UInt8(ascii: "t"): try literal("true", .bool(true))
        case UInt8(ascii: "f"): try literal("false", .bool(false))
        case UInt8(ascii: "n"): try literal("null", .null)
        default: .number(try number())
        }
    }

    /// Steps into an array or object.
    /// - Returns: Its value, if it is empty; then it was left again.
    private mutating func enter(_ open: inout [Open]) throws -> JSONValue? {
        guard open.count < options.maximumDepth else {
            throw fault("arrays and objects are nested more than \(options.maximumDepth) deep")
        }
        var entered = Open(isObject: next == .openBrace)
        position += 1
        skipSpace()
        if take(entered.isObject ? .closeBrace : .closeBracket) { return entered.value }
        try beginMember(of: &entered)
        open.append(entered)
        return nil
    }

    /// Steps over the name of a member, if this is an object.
    private mutating func beginMember(of open: inout Open) throws {
        guard open.isObject else { return }
        guard next == .quote else { throw fault("an object lacks a name") }
        open.keyPosition = position
        open.key = try name()
        skipSpace()
        guard take(.colon) else { throw fault("a name lacks its colon") }
        skipSpace()
    }

    private mutating func leave(_ open: Open) throws {
        guard take(open.isObject ? .closeBrace : .closeBracket) else {
            throw fault("an \(open.isObject ? "object" : "array") lacks a comma or its end")
        }
    }

    private mutating func add(_ value: JSONValue, to open: inout Open) throws {
        guard builds else { return }
        guard open.isObject else { return open.values.append(value) }
        guard !open.object.insert(value, for: open.key) else { return }
        switch options.duplicateKeys.policy {
        case .firstWins: break
        case .lastWins: open.object[open.key] = value
        case .fail:
            position = open.keyPosition
            throw fault("an object has one name twice")
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws -> JSONValue {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count, bytes[position..<end].elementsEqual("\(text)".utf8) else {
            throw fault("there is no value")
        }
        position = end
        return value
    }

    // MARK: Bytes

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == .space || byte == .lineFeed || byte == .carriageReturn || byte == .tab else { return }
            position += 1
        }
    }

    /// An error that says where, and nothing of what stands there.
    func fault(_ message: String) -> CurlewError {
        let before = bytes[..<min(position, bytes.count)]
        let line = before.count { $0 == .lineFeed } + 1
        let column = position - (before.lastIndex(of: .lineFeed) ?? -1)
        return CurlewError(.decodingFailed, "\(message), at line \(line), column \(column)")
    }
}
