/// The members of an object, for `Decodable` types.
struct JSONTapeKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let members: JSONMembers

    init(_ members: JSONMembers) { self.members = members }

    @inline(__always)
    private var decoding: JSONDecoding { members.decoding }
    @inline(__always)
    private var object: JSONTape.Place { members.object }
    private var keepsKeys: Bool { members.keepsKeys }

    var codingPath: [any CodingKey] { decoding.path(to: object) }

    var allKeys: [Key] {
        var keys: [Key] = []
        decoding.tape.tokens.forEachMember(of: object) { member in
            if let key: Key = decoding.key(
                named: decoding.tape.nameString(at: member), in: object, keepsKeys: keepsKeys)
            {
                keys.append(key)
            }
        }
        return keys
    }

    /// The place of a value; ``JSONTape/missing`` without one.
    @inline(__always)
    private func find(_ key: some CodingKey) -> JSONTape.Place {
        decoding.member(key, of: object, keepsKeys: keepsKeys)
    }

    /// The place of a required value.
    @inline(__always)
    private func place(_ key: Key) throws -> JSONTape.Place {
        let place = find(key)
        guard place != JSONTape.missing else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: "there is no such member"))
        }
        return place
    }

    /// The place of a value; nil if the value is missing or null.
    @inline(__always)
    private func placeIfPresent(_ key: Key) -> JSONTape.Place? {
        // `find` returns place 0, which is null, for a missing value.
        let place = find(key)
        return decoding.kind(at: place) == .null ? nil : place
    }

    func contains(_ key: Key) -> Bool { find(key) != JSONTape.missing }

    func decodeNil(forKey key: Key) throws -> Bool { decoding.kind(at: try place(key)) == .null }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoding.bool(at: place(key), in: object) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try decoding.string(at: place(key), in: object)
    }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try decoding.double(at: place(key), in: object)
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoding.float(at: place(key), in: object) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try decoding.integer(type, at: place(key), in: object)
    }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try decoding.integer(type, at: place(key), in: object)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoding.value(type, at: place(key), in: object)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try JSONTapeDecoder(decoding, place(key), in: object).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONTapeDecoder(decoding, place(key), in: object).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { JSONTapeDecoder(decoding, find(JSONKey("super")), in: object) }

    func superDecoder(forKey key: Key) throws -> any Decoder { JSONTapeDecoder(decoding, find(key), in: object) }
}

/// Optional values with one look-up. The defaults of the standard library look a member up twice.
extension JSONTapeKeyedContainer {
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try placeIfPresent(key).map { try decoding.bool(at: $0, in: object) }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try placeIfPresent(key).map { try decoding.string(at: $0, in: object) }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try placeIfPresent(key).map { try decoding.double(at: $0, in: object) }
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try placeIfPresent(key).map { try decoding.float(at: $0, in: object) }
    }

    @inline(__always)
    private func integerIfPresent<Value: FixedWidthInteger>(_ key: Key) throws -> Value? {
        try placeIfPresent(key).map { try decoding.integer(Value.self, at: $0, in: object) }
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try integerIfPresent(key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try placeIfPresent(key).map { try decoding.value(type, at: $0, in: object) }
    }
}
