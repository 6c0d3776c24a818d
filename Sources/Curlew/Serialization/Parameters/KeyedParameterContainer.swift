/// Encodes into a table.
struct KeyedParameterContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    private func set(_ value: ParameterValue, _ key: Key) { set(.value(value), key) }

    private func set(_ member: EncodedNode.Member, _ key: Key) { encoder.node.set(member, for: name(of: key)) }

    private func name(of key: some CodingKey) -> String {
        encoder.keepsKeys ? key.stringValue : encoder.state.keyNaming.name(of: key)
    }

    mutating func encodeNil(forKey key: Key) { set(.null, key) }
    mutating func encode(_ value: Bool, forKey key: Key) { set(.boolean(value), key) }
    mutating func encode(_ value: String, forKey key: Key) { set(.string(value), key) }
    mutating func encode(_ value: Double, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Float, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Int, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Int8, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Int16, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Int32, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Int64, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: Int128, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: UInt, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: UInt8, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: UInt16, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: UInt32, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: UInt64, forKey key: Key) { set(ParameterValue(value), key) }
    mutating func encode(_ value: UInt128, forKey key: Key) { set(ParameterValue(value), key) }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        set(try encoder.state.encode(value, at: encoder.path.appending(key)), key)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(KeyedParameterContainer<NestedKey>(encoder: nested(.table, in: key)))
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        UnkeyedParameterContainer(encoder: nested(.list, in: key))
    }

    mutating func superEncoder() -> any Encoder { nested(.nothing, in: SuperKey()) }

    mutating func superEncoder(forKey key: Key) -> any Encoder { nested(.nothing, in: key) }

    /// A container asked for twice is the same one.
    private func nested(_ kind: EncodedNode.Kind, in key: some CodingKey) -> ValueEncoder {
        let name = name(of: key)
        let node = encoder.node.node(for: name) ?? EncodedNode()
        encoder.node.set(.node(node), for: name)
        return encoder.nested(kind, in: key, node: node)
    }
}
