internal import FoundationEssentials

/// Decodes models from a tree.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    private let coding: JSONCoding
    /// True where the names are those of a dictionary and not of a type.
    private let keepsKeys: Bool
    private let sendableUserInfo: [CodingUserInfoKey: any Sendable]

    var userInfo: [CodingUserInfoKey: Any] { sendableUserInfo }

    init(
        value: JSONValue, codingPath: [any CodingKey], coding: JSONCoding, keepsKeys: Bool = false,
        userInfo: [CodingUserInfoKey: any Sendable]
    ) {
        self.value = value
        self.codingPath = codingPath
        self.coding = coding
        self.keepsKeys = keepsKeys
        sendableUserInfo = userInfo
    }

    /// The key of a type that a name in JSON stands for, if it has one.
    func key<Key: CodingKey>(named name: String) -> Key? {
        guard !keepsKeys, coding.keys == .snakeCase else { return Key(stringValue: name) }
        let words = name.split(separator: "_")
        let camelCase =
            words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return [camelCase, name].lazy.compactMap { Key(stringValue: $0) }.first { self.name(of: $0) == name }
    }

    /// The name that a key of a type has in JSON.
    func name(of key: some CodingKey) -> String {
        keepsKeys || coding.keys == .asWritten ? key.stringValue : coding.keys.naming.name(of: key)
    }

    /// A decoder for what stands at `key` below this.
    func child(_ value: JSONValue, _ key: any CodingKey) -> JSONValueDecoder {
        JSONValueDecoder(
            value: value, codingPath: codingPath + [key], coding: coding, userInfo: sendableUserInfo)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let object) = value else { throw mismatch([String: JSONValue].self) }
        return KeyedDecodingContainer(JSONKeyedContainer(object: object, decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let values) = value else { throw mismatch([JSONValue].self) }
        return JSONUnkeyedContainer(values: values, decoder: self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    // MARK: Errors

    func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "it is \(kind)")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(_ description: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: description))
    }

    private var kind: String {
        switch value {
        case .null: "null"
        case .bool: "a truth value"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard let value = value.boolValue else { throw mismatch(type) }
        return value
    }

    func decode(_ type: String.Type) throws -> String {
        guard let value = value.stringValue else { throw mismatch(type) }
        return value
    }

    func decode(_ type: Double.Type) throws -> Double {
        if let nonFinite = coding.nonFinite.number(from: value) { return nonFinite }
        guard let number = value.numberValue else { throw mismatch(type) }
        guard let double = number.double else { throw corrupted("the number is beyond the range of Double") }
        return double
    }

    func decode(_ type: Float.Type) throws -> Float {
        let double = try decode(Double.self)
        let float = Float(double)
        guard float.isFinite || !double.isFinite else { throw corrupted("the number is beyond the range of Float") }
        return float
    }

    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

    private func integer<Value: FixedWidthInteger>() throws -> Value {
        guard let number = value.numberValue else { throw mismatch(Value.self) }
        guard let integer = number.integer(as: Value.self) else {
            throw corrupted("the number does not fit \(Value.self)")
        }
        return integer
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // Types whose own decoding is not how JSON has them.
        if type == JSONValue.self, let value = value as? Value { return value }
        if type == Data.self, let value = try data() as? Value { return value }
        if type == URL.self, let value = try url() as? Value { return value }
        if type == Decimal.self, let value = try decimal() as? Value { return value }
        if type == Date.self, let value = try date() as? Value { return value }
        guard coding.keys != .asWritten, type is any DictionaryWithKeysOfItsOwn.Type else {
            return try type.init(from: self)
        }
        return try type.init(
            from: JSONValueDecoder(
                value: value, codingPath: codingPath, coding: coding, keepsKeys: true, userInfo: sendableUserInfo))
    }

    private func date() throws -> Date {
        guard !value.isNull else { throw mismatch(Date.self) }
        guard let date = coding.dates.date(from: value) else { throw corrupted("it is no date in the expected form") }
        return date
    }

    private func data() throws -> Data {
        guard let data = coding.data.bytes(from: try decode(String.self)) else { throw corrupted("it is not Base64") }
        return data
    }

    private func url() throws -> URL {
        guard let url = URL(string: try decode(String.self)) else { throw corrupted("it is not a URL") }
        return url
    }

    private func decimal() throws -> Decimal {
        guard let number = value.numberValue else { throw mismatch(Decimal.self) }
        guard let decimal = Decimal(string: number.description) else {
            throw corrupted("the number does not fit Decimal")
        }
        return decimal
    }
}

/// The members of an object, as `Decodable` types ask for them.
private struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONValue.Object
    let decoder: JSONValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { object.keys.compactMap { decoder.key(named: $0) } }

    func contains(_ key: Key) -> Bool { object[decoder.name(of: key)] != nil }

    private func member(_ key: some CodingKey) throws -> JSONValueDecoder {
        guard let value = object[decoder.name(of: key)] else {
            let context = DecodingError.Context(codingPath: codingPath, debugDescription: "there is no such member")
            throw DecodingError.keyNotFound(key, context)
        }
        return decoder.child(value, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(key).decode(type) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try member(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(key).decode(type) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try member(key).decode(type) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try member(JSONKey("super")) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

/// The elements of an array, one after the other.
private struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    let values: [JSONValue]
    let decoder: JSONValueDecoder
    private(set) var currentIndex = 0

    init(values: [JSONValue], decoder: JSONValueDecoder) {
        self.values = values
        self.decoder = decoder
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    private func element(_ type: Any.Type) throws -> JSONValueDecoder {
        guard !isAtEnd else {
            let path = codingPath + [JSONKey(intValue: currentIndex)]
            let context = DecodingError.Context(codingPath: path, debugDescription: "the array has no more elements")
            throw DecodingError.valueNotFound(type, context)
        }
        return decoder.child(values[currentIndex], JSONKey(intValue: currentIndex))
    }

    /// What `body` makes of the next element, which counts as read only if that works.
    private mutating func taking<Value>(_ body: (JSONValueDecoder) throws -> Value) throws -> Value {
        let value = try body(element(Value.self))
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard try element(Any?.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try taking { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try taking { try $0.decode(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try taking { try $0.decode(type) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try taking { try $0.decode(type) } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try taking { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try taking { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try taking { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try taking { $0 } }
}
