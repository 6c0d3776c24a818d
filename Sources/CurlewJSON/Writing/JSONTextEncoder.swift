/// The encoder for a value's `encode(to:)`, for JSON that is written directly.
///
/// The encoder and its containers only store the number of a frame. If another frame is the innermost,
/// ``JSONStructure`` handles the call. They are small enough to fit into their existentials.
struct JSONTextEncoder: Encoder {
    let state: JSONEncodingState
    let serial: Int

    var codingPath: [any CodingKey] { state.text.pointee.path(of: serial) }
    var userInfo: [CodingUserInfoKey: Any] { state.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        _ = state.text.pointee.become(.object, serial)
        return state.object(type, serial)
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        _ = state.text.pointee.become(.list, serial)
        return JSONListContainer(state: state, serial: serial)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        JSONSingleContainer(state: state, serial: serial)
    }
}

extension JSONEncodingState {
    /// Opens a container at a position whose name or comma has been written.
    fileprivate func nested(_ kind: JSONStructure.Frame.Kind, _ place: JSONPlace) -> JSONTextEncoder {
        // The only frame with a negative number is that of an abandoned text (-1), so writes with -2 have no effect.
        let serial = text.pointee.open(place, isValue: false, keepsKeys: false) ?? -2
        if kind != .nothing { _ = text.pointee.become(kind, serial) }
        return JSONTextEncoder(state: self, serial: serial)
    }

    /// A container of the members of an object.
    fileprivate func object<Key: CodingKey>(_ key: Key.Type, _ serial: Int) -> KeyedEncodingContainer<Key> {
        func make<Container: JSONMemberContainer<Key>>(_ type: Container.Type) -> KeyedEncodingContainer<Key> {
            KeyedEncodingContainer(Container(state: self, serial: serial))
        }
        return make(containerType(for: key).type)
    }
}

/// A container of the members of an object.
protocol JSONMemberContainer<Key>: KeyedEncodingContainerProtocol {
    init(state: JSONEncodingState, serial: Int)
}

/// The type of containers for a type of keys, with its conformance. Looking up both for every object takes the runtime
/// longer than writing some members.
final class JSONContainerType<Key: CodingKey> {
    let type: any JSONMemberContainer<Key>.Type = JSONObjectContainer<Key>.self

    init() {}
}

/// Writes the members of an object.
struct JSONObjectContainer<Key: CodingKey>: JSONMemberContainer {
    let state: JSONEncodingState
    let serial: Int

    var codingPath: [any CodingKey] { state.text.pointee.path(of: serial) }

    @inline(__always)
    private func begin(_ key: Key) -> Bool { state.text.pointee.beginMember(key.stringValue, serial) }

    mutating func encodeNil(forKey key: Key) { if begin(key) { state.text.pointee.output.appendNull() } }
    mutating func encode(_ value: Bool, forKey key: Key) { if begin(key) { state.text.pointee.output.append(value) } }
    mutating func encode(_ value: String, forKey key: Key) { if begin(key) { state.text.pointee.append(value) } }
    mutating func encode(_ value: Double, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: Float, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: Int, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: Int8, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: Int16, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: Int32, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: Int64, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: UInt, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: UInt8, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: UInt16, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: UInt32, forKey key: Key) { if begin(key) { state.write(value) } }
    mutating func encode(_ value: UInt64, forKey key: Key) { if begin(key) { state.write(value) } }

    mutating func encode(_ value: Int128, forKey key: Key) {
        if begin(key) { state.write(ParameterValue.Number(value)) }
    }

    mutating func encode(_ value: UInt128, forKey key: Key) {
        if begin(key) { state.write(ParameterValue.Number(value)) }
    }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        guard begin(key) else { return }
        let way = state.way(of: Value.self)
        if way.runsCode { state.text.pointee.push(key) }
        try state.write(value, way, .key)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        state.object(keyType, nested(.object, key.stringValue, key).serial)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONListContainer(state: state, serial: nested(.list, key.stringValue, key).serial)
    }

    mutating func superEncoder() -> any Encoder { nested(.nothing, SuperKey().stringValue, SuperKey()) }

    mutating func superEncoder(forKey key: Key) -> any Encoder { nested(.nothing, key.stringValue, key) }

    private func nested(_ kind: JSONStructure.Frame.Kind, _ name: String, _ key: any CodingKey) -> JSONTextEncoder {
        if state.text.pointee.beginMember(name, serial) { state.text.pointee.push(key) }
        return state.nested(kind, .key)
    }
}

/// Writes the elements of a list.
private struct JSONListContainer: UnkeyedEncodingContainer {
    let state: JSONEncodingState
    let serial: Int
    /// The number of elements that could not be written. They count for a value that reads the number of its elements.
    private var lost = 0

    init(state: JSONEncodingState, serial: Int) {
        self.state = state
        self.serial = serial
    }

    var codingPath: [any CodingKey] { state.text.pointee.path(of: serial) }
    var count: Int { state.text.pointee.count(of: serial) + lost }

    @inline(__always)
    private mutating func begin() -> Bool {
        if state.text.pointee.beginElement(serial) { return true }
        lost += 1
        return false
    }

    mutating func encodeNil() { if begin() { state.text.pointee.output.appendNull() } }
    mutating func encode(_ value: Bool) { if begin() { state.text.pointee.output.append(value) } }
    mutating func encode(_ value: String) { if begin() { state.text.pointee.append(value) } }
    mutating func encode(_ value: Double) { if begin() { state.write(value) } }
    mutating func encode(_ value: Float) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int8) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int16) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int32) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int64) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int128) { if begin() { state.write(ParameterValue.Number(value)) } }
    mutating func encode(_ value: UInt) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt8) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt16) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt32) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt64) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt128) { if begin() { state.write(ParameterValue.Number(value)) } }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        if begin() { try state.write(value, state.way(of: Value.self), .index) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        _ = begin()
        return state.object(keyType, state.nested(.object, .index).serial)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        _ = begin()
        return JSONListContainer(state: state, serial: state.nested(.list, .index).serial)
    }

    mutating func superEncoder() -> any Encoder {
        _ = begin()
        return state.nested(.nothing, .index)
    }
}

/// Writes one value instead of the encoded value.
private struct JSONSingleContainer: SingleValueEncodingContainer {
    let state: JSONEncodingState
    let serial: Int

    var codingPath: [any CodingKey] { state.text.pointee.path(of: serial) }

    @inline(__always)
    private func begin() -> Bool { state.text.pointee.become(.single, serial) }

    mutating func encodeNil() { if begin() { state.text.pointee.output.appendNull() } }
    mutating func encode(_ value: Bool) { if begin() { state.text.pointee.output.append(value) } }
    mutating func encode(_ value: String) { if begin() { state.text.pointee.append(value) } }
    mutating func encode(_ value: Double) { if begin() { state.write(value) } }
    mutating func encode(_ value: Float) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int8) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int16) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int32) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int64) { if begin() { state.write(value) } }
    mutating func encode(_ value: Int128) { if begin() { state.write(ParameterValue.Number(value)) } }
    mutating func encode(_ value: UInt) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt8) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt16) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt32) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt64) { if begin() { state.write(value) } }
    mutating func encode(_ value: UInt128) { if begin() { state.write(ParameterValue.Number(value)) } }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        if begin() { try state.write(value, state.way(of: Value.self), .same) }
    }
}
