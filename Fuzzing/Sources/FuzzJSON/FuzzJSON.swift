internal import FuzzingKit

@testable internal import Curlew

/// JSON: what is read, written and read again is the same, and no set of options takes a text that the most lenient one
/// refuses.
@main
struct FuzzJSON: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let options = options(&choices)
        let text = choices.rest
        var lenient = JSONReadingOptions.anyValue
        lenient.duplicateKeys = .lastWins
        let all = try? JSONValue(parsing: text, options: lenient)
        guard let value = try? JSONValue(parsing: text, options: options) else { return }
        require(all != nil, "a text is taken by strict options alone")
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
