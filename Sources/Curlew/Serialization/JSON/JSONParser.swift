/// Reads JSON (RFC 8259) from UTF-8 that has been checked, into a tree or only to see whether it is JSON.
package struct JSONParser {
    private let bytes: [UInt8]
    private let options: JSONReadingOptions
    /// True if values are made; if not, the text is only checked.
    private let builds: Bool
    private var position = 0
    /// True if the last string was ASCII without escapes.
    private var isLastStringPlain = true

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
        var object = JSONValue.Object()
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

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

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
    private func fault(_ message: String) -> CurlewError {
        let before = bytes[..<min(position, bytes.count)]
        let line = before.count { $0 == .lineFeed } + 1
        let column = position - (before.lastIndex(of: .lineFeed) ?? -1)
        return CurlewError(.decodingFailed, "\(message), at line \(line), column \(column)")
    }
}

extension JSONParser {
    /// A number.
    private mutating func number() throws -> JSONValue.Number {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        guard let first = next, first.isDigit else {
            position = start
            throw fault("there is no value")
        }
        skipDigits()
        guard first != UInt8(ascii: "0") || isOneDigit(since: start) else {
            throw fault("a number begins with zero")
        }
        var isInteger = true
        if next == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try requireDigits()
        }
        if next.map({ $0 | 0x20 }) == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try requireDigits()
        }
        guard builds || !options.bigNumbers.isKept else { return JSONValue.Number(0) }
        let number = JSONValue.Number(literal: bytes[start..<position], isInteger: isInteger)
        guard options.bigNumbers.isKept || !number.isBig else {
            position = start
            throw fault("a number is too large or has too many digits")
        }
        return number
    }

    /// True if exactly one digit was read since a number began.
    private func isOneDigit(since start: Int) -> Bool {
        position - start == (bytes[start] == UInt8(ascii: "-") ? 2 : 1)
    }

    private mutating func skipDigits() {
        while position < bytes.count, bytes[position].isDigit { position += 1 }
    }

    private mutating func requireDigits() throws {
        guard next?.isDigit == true else { throw fault("a number lacks a digit") }
        skipDigits()
    }
}

extension JSONParser {
    /// The name of a member; empty if values are not made and it is plain.
    ///
    /// Swift and Foundation hash and compare the names that they are given by their normal form, in time that grows with the
    /// square of a run of combining marks. No writing has such runs.
    private mutating func name() throws -> String {
        let start = position
        var name = try string(builds: builds)
        guard !isLastStringPlain else { return name }
        if !builds {
            position = start
            name = try string(builds: true)
        }
        var marks = 0
        for scalar in name.unicodeScalars {
            marks = scalar.isCombiningMark ? marks + 1 : 0
            guard marks <= JSONReadingOptions.combiningMarkLimit else {
                position = start
                throw fault("a name has more than \(JSONReadingOptions.combiningMarkLimit) combining marks in a row")
            }
        }
        return name
    }

    /// A string with its escapes resolved; empty if values are not made.
    private mutating func string() throws -> String { try string(builds: builds) }

    private mutating func string(builds: Bool) throws -> String {
        position += 1
        let start = position
        var seen: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == .quote {
                defer { position += 1 }
                isLastStringPlain = seen < 0x80
                return builds ? String(decoding: bytes[start..<position], as: UTF8.self) : ""
            }
            if byte == .backslash { return try escapedString(from: start, builds: builds) }
            guard byte >= 0x20 else { throw fault("a string holds a control character") }
            seen |= byte
            position += 1
        }
        throw fault("a string does not end")
    }

    /// The rest of a string from its first escape on.
    private mutating func escapedString(from start: Int, builds: Bool) throws -> String {
        isLastStringPlain = false
        var text = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case .quote: return builds ? String(decoding: text, as: UTF8.self) : ""
            case .backslash:
                let scalar = try escape()
                if builds { text.append(contentsOf: scalar.utf8) }
            case 0..<0x20:
                position -= 1
                throw fault("a string holds a control character")
            default:
                if builds { text.append(byte) }
            }
        }
        throw fault("a string does not end")
    }

    private mutating func escape() throws -> Unicode.Scalar {
        guard let byte = next else { throw fault("a string does not end") }
        position += 1
        switch byte {
        case .quote, .backslash, .slash: return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default:
            position -= 1
            throw fault("there is no such escape")
        }
    }

    /// The code point that follows `\u`: one, or the first half of a surrogate pair and `\u` and the second.
    private mutating func unicodeEscape() throws -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, next == .backslash, position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u")
        else { throw fault("half a surrogate pair is no character") }
        position += 2
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw fault("half a surrogate pair is no character") }
        return scalar
    }

    private mutating func codeUnit() throws -> UInt16 {
        guard position + 4 <= bytes.count else { throw fault("a string does not end") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = bytes[position].hexValue else { throw fault("an escape lacks a hexadecimal digit") }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}

extension Unicode.Scalar {
    /// True if it goes with the character before it. All that normal forms put into another order are such.
    fileprivate var isCombiningMark: Bool {
        // There is none before.
        guard value >= 0x300 else { return false }
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return false
        }
    }
}
