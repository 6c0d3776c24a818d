/// What a value's `encode(to:)` is given: it hands out containers over one node.
struct ValueEncoder: Encoder {
    let state: EncodingState
    let node: EncodedNode
    let path: CodingPath
    /// Whether keys are data, as those of a dictionary are, and not names.
    var keepsKeys = false

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { state.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedParameterContainer(encoder: over(.table)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedParameterContainer(encoder: over(.list)) }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleParameterContainer(encoder: self) }

    /// Itself with a node of that kind. If it is another kind already, what is encoded goes nowhere: the encoding will fail.
    private func over(_ kind: EncodedNode.Kind) -> ValueEncoder {
        if node.become(kind) { return self }
        state.note("asked for containers of two kinds", at: path)
        return detached(kind)
    }

    /// An encoder for what lies inside.
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
    func noteDepth(at path: CodingPath) { note(ParameterFailure.tooDeep.reason, at: path) }

    /// What a value becomes at a place.
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

/// Marks dictionaries: their keys are not renamed.
private protocol DictionaryWithKeysOfItsOwn {}

extension Dictionary: DictionaryWithKeysOfItsOwn {}
