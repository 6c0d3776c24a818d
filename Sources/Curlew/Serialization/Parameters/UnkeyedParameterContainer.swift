/// Encodes into a list.
struct UnkeyedParameterContainer: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.node.count }

    private func append(_ value: ParameterValue) { encoder.node.append(.value(value)) }

    mutating func encodeNil() { append(.null) }
    mutating func encode(_ value: Bool) { append(.boolean(value)) }
    mutating func encode(_ value: String) { append(.string(value)) }
    mutating func encode(_ value: Double) { append(ParameterValue(value)) }
    mutating func encode(_ value: Float) { append(ParameterValue(value)) }
    mutating func encode(_ value: Int) { append(ParameterValue(value)) }
    mutating func encode(_ value: Int8) { append(ParameterValue(value)) }
    mutating func encode(_ value: Int16) { append(ParameterValue(value)) }
    mutating func encode(_ value: Int32) { append(ParameterValue(value)) }
    mutating func encode(_ value: Int64) { append(ParameterValue(value)) }
    mutating func encode(_ value: Int128) { append(ParameterValue(value)) }
    mutating func encode(_ value: UInt) { append(ParameterValue(value)) }
    mutating func encode(_ value: UInt8) { append(ParameterValue(value)) }
    mutating func encode(_ value: UInt16) { append(ParameterValue(value)) }
    mutating func encode(_ value: UInt32) { append(ParameterValue(value)) }
    mutating func encode(_ value: UInt64) { append(ParameterValue(value)) }
    mutating func encode(_ value: UInt128) { append(ParameterValue(value)) }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        encoder.node.append(try encoder.state.encode(value, at: encoder.path.appending(IndexKey(count))))
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(KeyedParameterContainer<NestedKey>(encoder: nested(.table)))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedParameterContainer(encoder: nested(.list))
    }

    mutating func superEncoder() -> any Encoder { nested(.nothing) }

    private func nested(_ kind: EncodedNode.Kind) -> ValueEncoder {
        let node = EncodedNode()
        let index = IndexKey(count)
        encoder.node.append(.node(node))
        return encoder.nested(kind, in: index, node: node)
    }
}
