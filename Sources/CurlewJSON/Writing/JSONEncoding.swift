internal import CurlewSupport

/// Writes values as JSON: directly if possible, else through a tree of ``ParameterValue``.
///
/// The tree defines the text. It accepts members in any order, and its errors contain the path. Most values encode from
/// the outside in, encode each member once, and do not throw. These are written directly into one buffer, with the same
/// bytes as through the tree. For other values the partial text is discarded, and the value is encoded again.
package struct JSONEncoding {
    let encoder: ParameterEncoder
    package let style: JSONCoding.Style

    package init(encoder: ParameterEncoder, style: JSONCoding.Style) {
        self.encoder = encoder
        self.style = style
    }

    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed``.
    package func bytes(of value: some Encodable) throws -> [UInt8] {
        if let bytes = bytesAtOnce(of: value) { return bytes }
        return try bytesByTree(of: value)
    }

    func bytesByTree(of value: some Encodable) throws -> [UInt8] { try encoder.encode(value).json(style: style) }

    /// The text without a tree; nil if the value cannot be written directly.
    func bytesAtOnce(of value: some Encodable) -> [UInt8]? {
        guard style.options.isDisjoint(with: [.sortedKeys, .prettyPrinted]), encoder.foundationTypes == .flattened
        else {
            return nil
        }
        let state = JSONEncodingState(encoder, style)
        return state.bytes(of: value, allowsFragments: style.options.contains(.fragmentsAllowed))
    }
}

extension JSONEncodingState {
    fileprivate func bytes<Value: Encodable>(of value: Value, allowsFragments: Bool) -> [UInt8]? {
        do { try write(value, way(of: Value.self), .same) } catch { return nil }
        guard !text.pointee.isGivenUp, text.pointee.output.count > 0 else { return nil }
        let first = text.pointee.output.start[0]
        guard allowsFragments || first == .openBrace || first == .openBracket else { return nil }
        return text.pointee.output.bytes
    }
}
