/// The decoder of one value, and its single-value container. It fits into an existential without an allocation.
struct JSONTapeDecoder: Decoder, SingleValueDecodingContainer {
    let decoding: JSONDecoding
    private let place: JSONTape.Place
    private let parent: JSONTape.Place
    /// True if the names are those of a dictionary, not of a type.
    private let keepsKeys: Bool

    init(_ decoding: JSONDecoding, _ place: JSONTape.Place, in parent: JSONTape.Place, keepsKeys: Bool = false) {
        self.decoding = decoding
        self.place = place
        self.parent = parent
        self.keepsKeys = keepsKeys
    }

    var codingPath: [any CodingKey] { decoding.path(to: place, in: parent) }
    var userInfo: [CodingUserInfoKey: Any] { decoding.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard decoding.kind(at: place) == .object else {
            throw decoding.mismatch([String: Any].self, at: place, in: parent)
        }
        return decoding.container(keyedBy: type, of: place, keepsKeys: keepsKeys)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard decoding.kind(at: place) == .array else { throw decoding.mismatch([Any].self, at: place, in: parent) }
        return JSONTapeUnkeyedContainer(decoding, place)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { decoding.kind(at: place) == .null }

    func decode(_ type: Bool.Type) throws -> Bool { try decoding.bool(at: place, in: parent) }
    func decode(_ type: String.Type) throws -> String { try decoding.string(at: place, in: parent) }
    func decode(_ type: Double.Type) throws -> Double { try decoding.double(at: place, in: parent) }
    func decode(_ type: Float.Type) throws -> Float { try decoding.float(at: place, in: parent) }
    func decode(_ type: Int.Type) throws -> Int { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: Int8.Type) throws -> Int8 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: Int16.Type) throws -> Int16 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: Int32.Type) throws -> Int32 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: Int64.Type) throws -> Int64 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: Int128.Type) throws -> Int128 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: UInt.Type) throws -> UInt { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try decoding.integer(type, at: place, in: parent) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try decoding.integer(type, at: place, in: parent) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decoding.value(type, at: place, in: parent)
    }
}

/// The elements of an array in sequence. An element that cannot be decoded remains the next one.
struct JSONTapeUnkeyedContainer: UnkeyedDecodingContainer {
    private let decoding: JSONDecoding
    private let array: JSONTape.Place
    private var place: JSONTape.Place
    private(set) var currentIndex = 0

    init(_ decoding: JSONDecoding, _ array: JSONTape.Place) {
        self.decoding = decoding
        self.array = array
        place = array + 1
    }

    var codingPath: [any CodingKey] { decoding.path(to: array) }
    var count: Int? { Int(decoding.tape.tokens[array].elementCount) }
    var isAtEnd: Bool { place >= decoding.tape.tokens[array].next }

    @inline(__always)
    private func checkEnd(_ type: Any.Type) throws {
        guard isAtEnd else { return }
        let path = codingPath + [JSONKey(intValue: currentIndex)]
        throw DecodingError.valueNotFound(
            type, DecodingError.Context(codingPath: path, debugDescription: "the array has no more elements"))
    }

    @inline(__always)
    private mutating func advance() {
        place = decoding.tape.tokens.after(place)
        currentIndex += 1
    }

    mutating func decodeNil() throws -> Bool {
        try checkEnd(Any?.self)
        guard decoding.kind(at: place) == .null else { return false }
        advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try checkEnd(type)
        let value = try decoding.bool(at: place, in: array)
        advance()
        return value
    }

    mutating func decode(_ type: String.Type) throws -> String {
        try checkEnd(type)
        let value = try decoding.string(at: place, in: array)
        advance()
        return value
    }

    mutating func decode(_ type: Double.Type) throws -> Double {
        try checkEnd(type)
        let value = try decoding.double(at: place, in: array)
        advance()
        return value
    }

    mutating func decode(_ type: Float.Type) throws -> Float {
        try checkEnd(type)
        let value = try decoding.float(at: place, in: array)
        advance()
        return value
    }

    @inline(__always)
    private mutating func integer<Value: FixedWidthInteger>() throws -> Value {
        try checkEnd(Value.self)
        let value = try decoding.integer(Value.self, at: place, in: array)
        advance()
        return value
    }

    mutating func decode(_ type: Int.Type) throws -> Int { try integer() }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try checkEnd(type)
        let value = try decoding.value(type, at: place, in: array)
        advance()
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try checkEnd(KeyedDecodingContainer<Nested>.self)
        let container = try JSONTapeDecoder(decoding, place, in: array).container(keyedBy: type)
        advance()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try checkEnd((any UnkeyedDecodingContainer).self)
        let container = try JSONTapeDecoder(decoding, place, in: array).unkeyedContainer()
        advance()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        try checkEnd((any Decoder).self)
        let decoder = JSONTapeDecoder(decoding, place, in: array)
        advance()
        return decoder
    }
}
