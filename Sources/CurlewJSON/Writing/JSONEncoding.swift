internal import CurlewSupport

/// Writes values as JSON: at once where that can be, else by way of a tree of ``ParameterValue``.
///
/// The tree is what defines the text. It takes what a value encodes in any order, and its errors name the place. Most values
/// encode from the outside in, each member once, and throw nothing: those are written into one buffer, to the same bytes. Where
/// a value does anything else, what was written is dropped and the value is encoded again.
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

    /// The text without a tree; nil if it cannot be written so.
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
