extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(UInt64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(Double.self), let number = JSONNumber(value) {
            self = .number(number)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let values = try? container.decode([JSONValue].self) {
            self = .array(values)
        } else {
            self = .object(try JSONObject(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let object): try object.encode(to: encoder)
        }
    }

    /// The value as a type of your own, decoded as Foundation's `JSONDecoder` does by default: `Data` from Base64, `URL`
    /// from a string, numbers only where they fit exactly.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws -> Value {
        try JSONValueDecoder(value: self, codingPath: [], userInfo: userInfo).decode(type)
    }
}

extension JSONObject: Codable {
    /// Members in the order that the decoder gives them, which for Foundation's is none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: JSONKey.self)
        self.init()
        for key in container.allKeys { self[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONKey.self)
        for (key, value) in self { try container.encode(value, forKey: JSONKey(key)) }
    }
}

extension JSONNumber: Encodable {
    /// - Throws: `EncodingError` for a number that no type holds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch storage {
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value), .rounded(let value, _): try container.encode(value)
        case .text:
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no type holds the number"))
        }
    }
}

/// Any name or index on a coding path.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init(stringValue: String) { self.init(stringValue) }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}
