/// Encodes one value in place of the whole node.
struct SingleParameterContainer: SingleValueEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    private func set(_ value: ParameterValue) throws {
        guard encoder.node.kind == .nothing, encoder.node.become(.single) else {
            encoder.state.note("encoded two values where one is", at: encoder.path)
            return try encoder.state.check()
        }
        encoder.node.set(value)
    }

    mutating func encodeNil() throws { try set(.null) }
    mutating func encode(_ value: Bool) throws { try set(.boolean(value)) }
    mutating func encode(_ value: String) throws { try set(.string(value)) }
    mutating func encode(_ value: Double) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Float) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Int) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Int8) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Int16) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Int32) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Int64) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: Int128) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: UInt) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: UInt8) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: UInt16) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: UInt32) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: UInt64) throws { try set(ParameterValue(value)) }
    mutating func encode(_ value: UInt128) throws { try set(ParameterValue(value)) }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try set(encoder.state.encode(value, at: encoder.path).resolved())
    }
}
