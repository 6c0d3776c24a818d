extension MultipartFormData {
    /// Appends a tree of parameters, a part for each of its values.
    ///
    /// The names are those of a form's pairs, in the same order, unescaped: `user[name]`. Data goes out as its bytes,
    /// null as an empty part, everything else as its text.
    /// - Parameters:
    ///   - parameters: The tree; its top must be a dictionary.
    ///   - style: How the names and texts are written.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed`` for what cannot be written. The form is as it was then.
    public mutating func append(parameters: ParameterValue, style: ParameterStyle = ParameterStyle()) throws {
        var copy = self
        for pair in try style.pairs(of: parameters) {
            if case .data(let bytes) = pair.value {
                copy.append(bytes, name: pair.name)
            } else {
                copy.append(try style.text(of: pair) ?? "", name: pair.name)
            }
        }
        self = copy
    }

    /// Appends the parameters that a value encodes itself as.
    /// - Parameters:
    ///   - value: The value.
    ///   - style: How the names and texts are written.
    ///   - encoder: What makes a tree of the value.
    /// - Throws: ``CurlewError`` with ``ErrorCode/encodingFailed``. The form is as it was then.
    public mutating func append(
        parameters value: some Encodable & Sendable, style: ParameterStyle = ParameterStyle(),
        encoder: ParameterEncoder = ParameterEncoder()
    ) throws {
        try append(parameters: encoder.encode(value), style: style)
    }
}
