internal import Curlew
internal import FoundationEssentials
internal import HTTPTypes

/// The value of a field, to be read as the type of the field.
struct FieldValue {
    let name: String
    let value: JSONValue

    init(_ member: JSONValue.Member) {
        name = member.name
        value = member.value
    }

    func wrong(_ expectation: String) -> LineProblem { .unusable("\(name) is not \(expectation)") }

    func string() throws -> String {
        guard case .string(let string) = value else { throw wrong("a string") }
        return string
    }

    func stringOrNull() throws -> String? { value == .null ? nil : try string() }

    func flag() throws -> Bool {
        guard case .bool(let flag) = value else { throw wrong("true or false") }
        return flag
    }

    /// A non-negative integer, in any notation.
    func count() throws -> Int {
        guard case .number(let digits) = value,
            let number = Int(digits) ?? Double(digits).flatMap({ Int(exactly: $0) }),
            number >= 0
        else { throw wrong("a whole number from 0 on") }
        return number
    }

    /// A non-negative number of milliseconds; decimals are allowed.
    func milliseconds() throws -> Duration {
        // A duration holds every number of milliseconds up to this bound.
        guard case .number(let digits) = value, let number = Double(digits), (0...1e15).contains(number) else {
            throw wrong("a number of milliseconds")
        }
        return .milliseconds(number)
    }

    /// Bytes in base64 (RFC 4648 §4), with padding.
    func bytes() throws -> [UInt8] {
        guard let data = Data(base64Encoded: try string()) else { throw wrong("base64") }
        return Array(data)
    }

    func strings() throws -> [String] {
        try elements("a list of strings").map { element in
            guard case .string(let string) = element.value else { throw wrong("a list of strings") }
            return string
        }
    }

    /// The meaning of one of a few words.
    /// - Throws: ``LineProblem/unsupported(_:)`` for any other.
    func choice<Value>(_ choices: KeyValuePairs<String, Value>) throws -> Value {
        let word = try string()
        guard let choice = choices.first(where: { $0.key == word }) else {
            throw LineProblem.unsupported("\(name) \(word)")
        }
        return choice.value
    }

    /// The non-null members of an object: each with its own name, and as a field that is named after this one.
    func members() throws -> [(String, FieldValue)] {
        guard case .object(let members) = value else { throw wrong("an object") }
        guard Set(members.map(\.name)).count == members.count else { throw wrong("an object with each member once") }
        return members.filter { $0.value != .null }.map { ($0.name, FieldValue(.init("\(name).\($0.name)", $0.value))) }
    }

    /// A list of names and values, the values as bytes.
    func rawFields() throws -> [RawField] {
        let expectation = "a list of [name, value]"
        return try elements(expectation).map { element in
            guard case .array(let pair) = element.value, pair.count == 2, case .string(let name) = pair[0],
                case .string(let value) = pair[1]
            else { throw wrong(expectation) }
            let bytes = value.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
            guard bytes.count == value.unicodeScalars.count else {
                throw wrong("\(expectation) with code points from 0 to 255 in the values")
            }
            return RawField(name: name, value: bytes)
        }
    }

    /// The elements of a list, as fields of the same name.
    func elements(_ expectation: String) throws -> [FieldValue] {
        guard case .array(let elements) = value else { throw wrong(expectation) }
        return elements.map { FieldValue(.init(name, $0)) }
    }
}

/// A field of the protocol, whose name and value may be invalid.
struct RawField: Sendable, Hashable {
    let name: String
    let value: [UInt8]
}

extension [RawField] {
    /// The fields as the library's type.
    /// - Throws: ``CurlewError`` for an invalid name, or for invalid bytes in a value.
    func checked() throws -> HTTPFields {
        var fields = HTTPFields()
        for field in self { fields.append(try HTTPField(checking: field.name, value: field.value)) }
        return fields
    }
}
