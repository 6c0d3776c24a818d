internal import CurlewSupport

/// Writes the tokens of a text, and checks it against RFC 8259 and the reading rules. Open arrays and objects are
/// stored in a list, so that depth needs no stack.
struct JSONTapeParser {
    /// An array or object whose end has not been read yet.
    private struct Open {
        var place: JSONTape.Place
        var isObject: Bool
        var count: UInt32 = 0
        /// A bit for each earlier name: a name whose bit is not set is new.
        var names: UInt64 = 0
    }

    /// The largest number of members that are compared with each other. Larger objects get an index.
    private static let comparedMembers = 24

    /// The tokens. The tape owns them after parsing; after an error the caller deallocates them.
    private(set) var tokens: JSONTokens
    private(set) var indexes: [JSONTape.Place: JSONNameIndex] = [:]
    private let text: UnsafeMutablePointer<UInt8>
    private let count: Int
    private let options: JSONCoding.ReadingOptions
    private var position = 0
    /// The innermost open array or object; its place is ``JSONTape/missing`` at the top. `outer` contains the enclosing
    /// ones.
    private var inner = Open(place: JSONTape.missing, isObject: false)
    private var outer: [Open] = []

    init(_ utf8: [UInt8], options: JSONCoding.ReadingOptions) {
        tokens = JSONTokens(utf8)
        text = tokens.text
        count = utf8.count
        self.options = options
    }

    mutating func parse() throws(JSONFault) {
        tokens.append(JSONToken(.null, at: 0))
        skipSpace()
        guard position < count else { throw fault("there is no value") }
        guard options.allowsFragments || next == .openBrace || next == .openBracket else {
            throw fault("the value is neither an object nor an array, and fragments are not allowed")
        }
        try value()
        skipSpace()
        guard position == count else { throw fault("something follows the value") }
    }

    /// Reads a value with its contents.
    private mutating func value() throws(JSONFault) {
        while true {
            switch next {
            case .quote: try string()
            case .openBrace, .openBracket:
                // An empty array or object has ended already.
                guard try enter() else { continue }
            case UInt8(ascii: "t"): try literal("true", .yes)
            case UInt8(ascii: "f"): try literal("false", .no)
            case UInt8(ascii: "n"): try null()
            default: try number()
            }
            while true {
                guard inner.place != JSONTape.missing else { return }
                skipSpace()
                inner.count &+= 1
                if take(.comma) {
                    skipSpace()
                    if inner.isObject { try name() }
                    break
                }
                guard take(inner.isObject ? .closeBrace : .closeBracket) else {
                    throw fault("an \(inner.isObject ? "object" : "array") lacks a comma or its end")
                }
                try leave()
            }
        }
    }

    /// Enters an array or object.
    /// - Returns: True if it is empty and has been left again.
    private mutating func enter() throws(JSONFault) -> Bool {
        guard outer.count < options.maximumDepth else {
            throw fault("arrays and objects are nested more than \(options.maximumDepth) deep")
        }
        let isObject = next == .openBrace
        let place = JSONTape.Place(tokens.count)
        tokens.append(JSONToken(isObject ? .object : .array, at: inner.place))
        outer.append(inner)
        inner = Open(place: place, isObject: isObject)
        position += 1
        skipSpace()
        if take(isObject ? .closeBrace : .closeBracket) {
            try leave()
            return true
        }
        if isObject { try name() }
        return false
    }

    private mutating func leave() throws(JSONFault) {
        tokens[inner.place].next = JSONTape.Place(tokens.count)
        if inner.isObject {
            tokens[inner.place].cursor = inner.place + 1
            if inner.count > Self.comparedMembers { try index() }
        } else {
            tokens[inner.place].elementCount = inner.count
        }
        inner = outer.removeLast()
    }

    private mutating func literal(_ word: StaticString, _ kind: JSONToken.Kind) throws(JSONFault) {
        for place in 0..<word.utf8CodeUnitCount where text[position + place] != word.utf8Start[place] {
            throw fault("there is no value")
        }
        tokens.append(JSONToken(kind, at: UInt32(position)))
        position += word.utf8CodeUnitCount
    }

    private mutating func null() throws(JSONFault) {
        try literal("null", .null)
        guard options.removesKeysWithNullValues, inner.place != JSONTape.missing else { return }
        if inner.isObject {
            tokens[JSONTape.Place(tokens.count - 2)].flags.insert(.passedOver)
        } else {
            tokens.removeLast()
            inner.count &-= 1
        }
    }

    // MARK: Bytes

    /// The next byte; 0 at the end.
    @inline(__always)
    private var next: UInt8 { text[position] }

    @inline(__always)
    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    @inline(__always)
    private mutating func skipSpace() {
        while next <= .space, next == .space || next == .lineFeed || next == .carriageReturn || next == .tab {
            position += 1
        }
    }

    private func fault(_ message: String) -> JSONFault { JSONFault(message: message, position: position) }
}

// MARK: Names

extension JSONTapeParser {
    /// Reads the name of a member and its colon.
    private mutating func name() throws(JSONFault) {
        guard next == .quote else { throw fault("an object lacks a name") }
        let start = position
        let place = JSONTape.Place(tokens.count)
        try string()
        let flags = tokens[place].flags
        if flags.contains(.escaped) { tokens.unescapeName(at: place) }
        if !flags.isEmpty { try checkMarks(at: place, from: start) }
        tokens[place].body = JSONToken.identity(of: tokens.bytes(at: place))
        try checkName(at: place, from: start)
        skipSpace()
        guard take(.colon) else { throw fault("a name lacks its colon") }
        skipSpace()
    }

    /// Rejects a name with a long run of combining marks.
    private func checkMarks(at place: JSONTape.Place, from start: Int) throws(JSONFault) {
        guard String(decoding: tokens.bytes(at: place), as: UTF8.self).hasLongRunOfMarks else { return }
        throw JSONFault(
            message: "a name has more than \(JSONCoding.ReadingOptions.combiningMarkLimit) combining marks in a row",
            position: start)
    }

    /// Compares a name with the earlier names of a small object.
    @inline(__always)
    private mutating func checkName(at place: JSONTape.Place, from start: Int) throws(JSONFault) {
        guard inner.count < Self.comparedMembers else { return }
        let bit: UInt64 = 1 << (tokens[place].body >> 32 & 63)
        if inner.names & bit != 0 { try compareNames(with: place, from: start) }
        inner.names |= bit
    }

    private mutating func compareNames(with place: JSONTape.Place, from start: Int) throws(JSONFault) {
        let name = tokens.bytes(at: place)
        var earlier = inner.place + 1
        while earlier < place {
            if tokens[earlier].body == tokens[place].body, tokens.has(name, at: earlier) {
                try resolve(earlier, place, from: start)
            }
            earlier = tokens.after(earlier + 1)
        }
    }

    /// Decides between two members of the same name. A member that was ignored before remains ignored.
    private mutating func resolve(
        _ earlier: JSONTape.Place, _ later: JSONTape.Place, from start: Int
    ) throws(JSONFault) {
        switch options.duplicateKeys.policy {
        case .firstWins: tokens[later].flags.insert(.passedOver)
        case .lastWins: tokens[earlier].flags.insert(.passedOver)
        case .fail:
            throw JSONFault(message: "an object has one name twice", position: start)
        }
    }

    /// Creates the index of an object with many members. The index finds duplicate names.
    private mutating func index() throws(JSONFault) {
        var index = JSONNameIndex(members: Int(inner.count))
        var place = inner.place + 1
        while place < JSONTape.Place(tokens.count) {
            if let earlier = index.put(place, in: tokens) {
                try resolve(earlier, place, from: Int(tokens[place].offset) - 1)
                if options.duplicateKeys == .firstWins { _ = index.put(earlier, in: tokens) }
            }
            place = tokens.after(place + 1)
        }
        indexes[inner.place] = index
        tokens[inner.place].flags.insert(.indexed)
    }
}

// MARK: Strings

extension JSONTapeParser {
    private mutating func string() throws(JSONFault) {
        position += 1
        let start = position
        var seen: UInt64 = 0
        var flags: JSONToken.Flags = []
        while true {
            let word = JSONWord(at: text + position)
            let ends = word.ends
            guard ends != 0 else {
                seen |= word.bits
                position += 8
                continue
            }
            let bits = ends.trailingZeroBitCount & ~7
            seen |= word.bits & ((1 << UInt64(bits)) &- 1)
            position += bits >> 3
            switch next {
            case .quote:
                if seen & JSONWord.highBits != 0 { flags.insert(.beyondASCII) }
                var token = JSONToken(.string, at: UInt32(start))
                token.flags = flags
                token.length = UInt32(position - start)
                tokens.append(token)
                position += 1
                return
            case .backslash:
                flags.insert(.escaped)
                position += 1
                try escape()
            default:
                throw position < count ? fault("a string holds a control character") : unended()
            }
        }
    }

    private func unended() -> JSONFault { JSONFault(message: "a string does not end", position: count) }

    private mutating func escape() throws(JSONFault) {
        guard position < count else { throw unended() }
        switch next {
        case .quote, .backslash, .slash, UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"),
            UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            try unicodeEscape()
        default: throw fault("there is no such escape")
        }
    }

    /// Reads the escape after `\u`: four digits, and for the first half of a surrogate pair also `\u` and the second
    /// half.
    private mutating func unicodeEscape() throws(JSONFault) {
        let first = try codeUnit()
        guard UTF16.isSurrogate(first) else { return }
        guard UTF16.isLeadSurrogate(first), next == .backslash, text[position + 1] == UInt8(ascii: "u") else {
            throw fault("half a surrogate pair is no character")
        }
        position += 2
        guard UTF16.isTrailSurrogate(try codeUnit()) else { throw fault("half a surrogate pair is no character") }
    }

    private mutating func codeUnit() throws(JSONFault) -> UInt16 {
        guard position + 4 <= count else { throw fault("a string does not end") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = next.hexValue else { throw fault("an escape lacks a hexadecimal digit") }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}

// MARK: Numbers

extension JSONTapeParser {
    private mutating func number() throws(JSONFault) {
        let start = position
        var token = JSONToken(.number, at: UInt32(start))
        if take(UInt8(ascii: "-")) { token.flags.insert(.negative) }
        guard next.isDigit else {
            throw JSONFault(message: "there is no value", position: start)
        }
        let first = position
        var mantissa: UInt64 = 0
        skipDigits(into: &mantissa)
        guard text[first] != UInt8(ascii: "0") || position == first + 1 else {
            throw fault("a number begins with zero")
        }
        var digits = position - first
        var exponent = 0
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            let point = position
            try requireDigits(into: &mantissa)
            exponent = point - position
            digits -= exponent
        }
        if next | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            exponent += try power()
        }
        if isInteger { token.flags.insert(.integer) }
        // Nineteen digits fit into 64 bits.
        if digits <= 19 || bytes(from: first).significantDigits <= 19, let power = Int16(exactly: exponent) {
            token.flags.insert(.exact)
            token.exponent = power
            token.body = mantissa
        }
        // A number with n digits before its point is less than 10^n.
        if digits + exponent > 308, options.outOfRange == .fail, bytes(from: start).isBeyondDouble {
            throw JSONFault(message: "a number is beyond the range of Double", position: start)
        }
        if !options.bigNumbers.isKept, digits > 15 || exponent != 0 {
            guard !JSONValue.Number(literal: Array(bytes(from: start))[...], isInteger: isInteger).isBig else {
                throw JSONFault(message: "a number is too large or has too many digits", position: start)
            }
        }
        tokens.append(token)
    }

    /// Reads the exponent. A magnitude above a million, which no type can represent, is limited to a million.
    private mutating func power() throws(JSONFault) -> Int {
        let isNegative = take(UInt8(ascii: "-"))
        if !isNegative { _ = take(UInt8(ascii: "+")) }
        guard next.isDigit else { throw fault("a number lacks a digit") }
        var power = 0
        while next.isDigit {
            power = min(power * 10 + Int(next - UInt8(ascii: "0")), 1_000_000)
            position += 1
        }
        return isNegative ? -power : power
    }

    /// Reads digits into a mantissa, which may overflow after nineteen digits.
    @inline(__always)
    private mutating func skipDigits(into mantissa: inout UInt64) {
        while true {
            let digit = next &- UInt8(ascii: "0")
            guard digit < 10 else { return }
            mantissa = mantissa &* 10 &+ UInt64(digit)
            position += 1
        }
    }

    private mutating func requireDigits(into mantissa: inout UInt64) throws(JSONFault) {
        guard next.isDigit else { throw fault("a number lacks a digit") }
        skipDigits(into: &mantissa)
    }

    private func bytes(from start: Int) -> UnsafeBufferPointer<UInt8> {
        .init(start: text + start, count: position - start)
    }
}
