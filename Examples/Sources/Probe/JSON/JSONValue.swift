/// A JSON value (RFC 8259) as in its line: numbers in their notation, members in order.
enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The text of a number, unparsed.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object.
    struct Member: Hashable, Sendable {
        let name: String
        let value: JSONValue

        init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The member with this name, if the value is an object and has one.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }
}

extension JSONValue {
    static func integer(_ value: some BinaryInteger) -> JSONValue { .number("\(value)") }

    /// The seconds of a duration, with its microseconds as decimals.
    static func seconds(_ duration: Duration) -> JSONValue {
        let parts = duration.components
        let fraction = String(parts.attoseconds / 1_000_000_000_000 + 1_000_000).dropFirst()
        return .number("\(parts.seconds).\(fraction)")
    }

    /// Bytes as a string of the code points 0 to 255, one per byte.
    static func byteString(_ bytes: some Sequence<UInt8>) -> JSONValue {
        var text = String.UnicodeScalarView()
        for byte in bytes { text.append(Unicode.Scalar(byte)) }
        return .string(String(text))
    }
}
