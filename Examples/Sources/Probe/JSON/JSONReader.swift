/// Parses JSON text strictly by RFC 8259.
///
/// The nesting depth is limited, so that no line can exhaust the stack.
struct JSONReader {
    /// The reason and the position of a syntax error.
    struct Problem: Error {
        let reason: String
        let offset: Int
    }

    /// The maximum depth of arrays and objects.
    static let depthLimit = 64

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value that spans the text.
    static func read(_ bytes: [UInt8]) throws -> JSONValue {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        let value = try reader.value()
        try reader.end()
        return value
    }

    /// Reads an object and passes on each complete member, with the text of its value.
    mutating func members(_ take: (JSONValue.Member, ArraySlice<UInt8>) throws -> Void) throws {
        skipSpace()
        try expect(UInt8(ascii: "{"), "an object was expected")
        try enter()
        defer { depth -= 1 }
        if skip(UInt8(ascii: "}")) { return }
        repeat {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw problem("the name of a member was expected") }
            let name = try string()
            skipSpace()
            try expect(UInt8(ascii: ":"), "a colon was expected")
            skipSpace()
            let start = position
            let value = try self.value()
            try take(JSONValue.Member(name, value), bytes[start..<position])
        } while skip(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"), "a comma or the end of the object was expected")
    }

    /// Checks that only space follows.
    mutating func end() throws {
        skipSpace()
        guard position == bytes.count else { throw problem("something follows the value") }
    }

    // MARK: Values

    private mutating func value() throws -> JSONValue {
        switch peek {
        case UInt8(ascii: "{"):
            var read: [JSONValue.Member] = []
            try members { member, _ in read.append(member) }
            return .object(read)
        case UInt8(ascii: "["): return .array(try elements())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func elements() throws -> [JSONValue] {
        try expect(UInt8(ascii: "["), "an array was expected")
        try enter()
        defer { depth -= 1 }
        var read: [JSONValue] = []
        if skip(UInt8(ascii: "]")) { return read }
        repeat {
            skipSpace()
            read.append(try value())
        } while skip(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"), "a comma or the end of the array was expected")
        return read
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws -> JSONValue {
        for index in 0..<text.utf8CodeUnitCount { try expect(text.utf8Start[index], "a value was expected") }
        return value
    }

    private mutating func number() throws -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        // A leading zero allows no further digits.
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() throws {
        let start = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw problem("a value was expected") }
    }

    private mutating func string() throws -> String {
        var text = JSONStringReader(bytes: bytes, position: position + 1)
        defer { position = text.position }
        do {
            return try text.read()
        } catch let reason as JSONStringReader.Reason {
            throw Problem(reason: reason.text, offset: text.position)
        }
    }

    // MARK: Bytes

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    /// Consumes the byte if it is next after space.
    private mutating func skip(_ byte: UInt8) -> Bool {
        skipSpace()
        return take(byte)
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func expect(_ byte: UInt8, _ reason: String) throws {
        guard take(byte) else { throw problem(reason) }
    }

    private mutating func enter() throws {
        depth += 1
        guard depth <= Self.depthLimit else { throw problem("it is nested deeper than \(Self.depthLimit) levels") }
    }

    private func problem(_ reason: String) -> Problem {
        Problem(reason: position < bytes.count ? reason : "it ends too early", offset: position)
    }
}
