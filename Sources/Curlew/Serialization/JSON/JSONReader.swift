internal import FoundationEssentials

/// Checks a text and decodes it: by Foundation's decoder, or to a tree if that is what is wanted.
struct JSONReader: Sendable {
    let options: JSONReadingOptions
    let configure: (@Sendable (JSONDecoder) -> Void)?

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        if type == JSONValue.self, let value = try JSONParser.parse(bytes, options: options) as? Value { return value }
        let decoder = JSONDecoder()
        configure?(decoder)
        return try decoder.decode(type, from: Data(checked(bytes)))
    }

    /// The text as Foundation's decoder, which has no options of this kind, is to see it.
    private func checked(_ bytes: [UInt8]) throws -> [UInt8] {
        // It takes the first of two values and all nulls; any other choice has to be carried out before.
        if options.duplicateKeys == .lastWins || options.removesKeysWithNullValues {
            return try JSONParser.parse(bytes, options: options).jsonBytes()
        }
        let text = try JSONSource.utf8(bytes)
        if options.duplicateKeys == .fail {
            _ = try JSONParser.parse(bytes, options: options)
        } else {
            try JSONParser.check(text, options: options)
        }
        return text
    }
}
