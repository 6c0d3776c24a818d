/// Reads JSON (RFC 8259) from UTF-8 that has been checked, into a tree or only to see whether it is JSON.
package struct JSONParser {
    let bytes: [UInt8]
    let options: JSONReadingOptions
    /// Whether values are made; if not, the text is only checked.
    let builds: Bool
    var position = 0

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
        let value = try value(depth: 0)
        skipSpace()
        guard position == bytes.count else { throw fault("something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws -> JSONValue {
        switch next {
        case UInt8.openBrace: return try object(depth: depth + 1)
        case UInt8.openBracket: return try array(depth: depth + 1)
        case UInt8.quote: return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func array(depth: Int) throws -> JSONValue {
        try enter(depth)
        var values: [JSONValue] = []
        if !take(.closeBracket) {
            repeat {
                skipSpace()
                let value = try value(depth: depth)
                if builds { values.append(value) }
                skipSpace()
            } while take(.comma)
            guard take(.closeBracket) else { throw fault("an array lacks a comma or its end") }
        }
        return .array(values)
    }

    private mutating func object(depth: Int) throws -> JSONValue {
        try enter(depth)
        var object = JSONObject()
        if !take(.closeBrace) {
            repeat {
                skipSpace()
                guard next == .quote else { throw fault("an object lacks a name") }
                let start = position
                let key = try string()
                skipSpace()
                guard take(.colon) else { throw fault("a name lacks its colon") }
                skipSpace()
                let value = try value(depth: depth)
                if builds { try add(value, key, to: &object, at: start) }
                skipSpace()
            } while take(.comma)
            guard take(.closeBrace) else { throw fault("an object lacks a comma or its end") }
        }
        return .object(object)
    }

    private mutating func add(_ value: JSONValue, _ key: String, to object: inout JSONObject, at start: Int) throws {
        if !object.insert(value, for: key) {
            switch options.duplicateKeys.policy {
            case .firstWins: break
            case .lastWins: object[key] = value
            case .fail:
                position = start
                throw fault("an object has one name twice")
            }
        }
    }

    /// Steps over the opening bracket of an array or object and what space follows.
    private mutating func enter(_ depth: Int) throws {
        guard depth <= options.maximumDepth else {
            throw fault("arrays and objects are nested more than \(options.maximumDepth) deep")
        }
        position += 1
        skipSpace()
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
