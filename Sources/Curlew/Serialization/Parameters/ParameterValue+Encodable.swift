internal import FoundationEssentials

/// For other encoders. Digits kept as they are become a `Double` there, and a set a list in the order that forms have.
extension ParameterValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let values): try Self.encode(values, to: encoder)
        case .set(let members): try Self.encode(members.inOrder(), to: encoder)
        case .dictionary(let dictionary):
            var container = encoder.container(keyedBy: Name.self)
            for (key, value) in dictionary { try container.encode(value, forKey: Name(stringValue: key)) }
        case .null, .boolean, .number, .string, .data, .date:
            var container = encoder.singleValueContainer()
            try encodeScalar(into: &container)
        }
    }

    private static func encode(_ values: [ParameterValue], to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for value in values { try container.encode(value) }
    }

    private func encodeScalar(into container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .boolean(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .data(let bytes): try container.encode(Data(bytes))
        case .date(let date): try container.encode(date)
        case .number(let number):
            switch number.kind {
            case .integer(let value): try container.encode(value)
            case .unsigned(let value): try container.encode(value)
            case .float(let value): try container.encode(value)
            case .double, .decimal: try container.encode(number.double)
            }
        case .null, .array, .set, .dictionary: try container.encodeNil()
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
