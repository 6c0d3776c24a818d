internal import FuzzingKit

@testable internal import Curlew

/// JSON: what is read, written and read again is the same; the check that makes no values takes the same texts as the
/// reading that does; and no set of options takes a text that the most lenient one refuses.
@main
struct FuzzJSON: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let options = options(&choices)
        let text = choices.rest
        var lenient = JSONReadingOptions.anyValue
        lenient.duplicateKeys = .lastWins
        let all = try? JSONValue(parsing: text, options: lenient)
        guard let value = try? JSONValue(parsing: text, options: options) else {
            require(!isAccepted(text, options), "a text is taken by the check alone")
            return
        }
        require(all != nil, "a text is taken by strict options alone")
        require(isAccepted(text, options), "a text is refused by the check alone")
        checkRoundTrip(value)
        if let all { checkRoundTrip(all) }
    }

    private static func options(_ choices: inout Choices) -> JSONReadingOptions {
        var options = JSONReadingOptions()
        options.allowsFragments = choices.flag()
        options.bigNumbers = choices.flag() ? .fail : .keep
        options.duplicateKeys = choices.one(of: [.firstWins, .lastWins, .fail])
        options.removesKeysWithNullValues = choices.flag()
        options.maximumDepth = choices.one(of: [512, 3, 20])
        return options
    }

    private static func isAccepted(_ text: [UInt8], _ options: JSONReadingOptions) -> Bool {
        // The check by itself knows nothing of names.
        guard options.duplicateKeys != .fail else { return (try? JSONParser.parse(text, options: options)) != nil }
        guard let utf8 = try? JSONSource.utf8(text) else { return false }
        do { try JSONParser.check(utf8, options: options) } catch { return false }
        return true
    }

    private static func checkRoundTrip(_ value: JSONValue) {
        let written = value.jsonBytes()
        guard let again = try? JSONValue(parsing: written) else {
            return require(false, "what was written is not read: \(value)")
        }
        requireEqual(again, value, "a value is another when it is read again")
        requireEqual(again.jsonBytes(), written, "a value is written otherwise when it is read again")
        require(again.hashValue == value.hashValue, "equal values have different hashes")
        requireEqual(
            try? JSONValue(parsing: value.jsonBytes(sortsKeys: true)), value, "a value with sorted keys is another")
    }
}
