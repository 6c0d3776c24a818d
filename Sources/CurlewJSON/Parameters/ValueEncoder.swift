/// The encoder for a value's `encode(to:)`; its containers share one node.
private struct ValueEncoder: Encoder {
    let state: EncodingState
    let node: EncodedNode
    let path: CodingPath
    /// True if keys are data, as in a dictionary, and not names.
    var keepsKeys = false

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { state.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedParameterContainer(encoder: over(.table)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedParameterContainer(encoder: over(.list)) }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleParameterContainer(encoder: self) }

    /// The same encoder with a node of that kind. If the node has another kind, the encoded value is discarded, as the
    /// encoding will fail.
    private func over(_ kind: EncodedNode.Kind) -> ValueEncoder {
        if node.become(kind) { return self }
        state.note("requested containers of two kinds", at: path)
        return detached(kind)
    }

    /// An encoder for a nested value.
    func nested(_ kind: EncodedNode.Kind, in key: any CodingKey, node: EncodedNode = EncodedNode()) -> ValueEncoder {
        let inner = ValueEncoder(state: state, node: node, path: path.appending(key))
        guard inner.path.depth <= ParameterValue.depthLimit else {
            state.noteDepth(at: path)
            return detached(kind)
        }
        return kind == .nothing ? inner : inner.over(kind)
    }

    private func detached(_ kind: EncodedNode.Kind) -> ValueEncoder {
        let nowhere = EncodedNode()
        _ = nowhere.become(kind)
        return ValueEncoder(state: state, node: nowhere, path: path)
    }
}

extension EncodingState {
    fileprivate func noteDepth(at path: CodingPath) { note(ParameterFailure.tooDeep.reason, at: path) }

    /// The parameter for a value at a position.
    func encode<Value: Encodable>(
        _ value: Value, at path: @autoclosure () -> CodingPath
    ) throws -> EncodedNode.Member {
        if let plain = PlainValue.of(value) { return .value(plain) }
        let path = path()
        try check()
        guard nesting < ParameterEncoder.nestingLimit, path.depth <= ParameterValue.depthLimit else {
            noteDepth(at: path)
            try check()
            return .value(.null)
        }
        nesting += 1
        defer { nesting -= 1 }
        do {
            if let known = try FoundationValue.of(value, state: self, path: path) { return .value(known) }
            let node = EncodedNode()
            let keepsKeys = keyNaming.isAsWritten || value is any DictionaryWithKeysOfItsOwn
            try value.encode(to: ValueEncoder(state: self, node: node, path: path, keepsKeys: keepsKeys))
            return .node(node)
        } catch {
            pass(path)
            throw error
        }
    }
}

/// Identifies dictionaries and trees, whose keys are data and not renamed.
protocol DictionaryWithKeysOfItsOwn {}

extension Dictionary: DictionaryWithKeysOfItsOwn {}
extension JSONValue: DictionaryWithKeysOfItsOwn {}
extension JSONValue.Object: DictionaryWithKeysOfItsOwn {}

/// Encodes into a table.
private struct KeyedParameterContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
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

    /// The encoder for a nested container. A container that is requested twice is the same one.
    private func nested(_ kind: EncodedNode.Kind, in key: some CodingKey) -> ValueEncoder {
        let name = name(of: key)
        let node = encoder.node.node(for: name) ?? EncodedNode()
        encoder.node.set(.node(node), for: name)
        return encoder.nested(kind, in: key, node: node)
    }
}

/// Encodes into a list.
private struct UnkeyedParameterContainer: UnkeyedEncodingContainer {
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

/// Encodes a single value as the node.
private struct SingleParameterContainer: SingleValueEncodingContainer {
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

/// Values that need no encoder, so that lists of numbers and strings are encoded without an object for each.
private enum PlainValue {
    /// The value, if it has one of the common plain types. Types are compared first because a cast is much slower.
    static func of<Value>(_ value: Value) -> ParameterValue? {
        if Value.self == String.self { return (value as? String).map { .string($0) } }
        if Value.self == Int.self { return (value as? Int).map { ParameterValue($0) } }
        if Value.self == Double.self { return (value as? Double).map { ParameterValue($0) } }
        if Value.self == Bool.self { return (value as? Bool).map { .boolean($0) } }
        if Value.self == ParameterValue.self { return value as? ParameterValue }
        return nil
    }
}
