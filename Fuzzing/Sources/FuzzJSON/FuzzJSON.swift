internal import FuzzingKit

@testable internal import CurlewJSON

/// A fuzz target for JSON. A value must stay equal after writing and reading, and no set of options may accept a text
/// that the most lenient one rejects.
@main
struct FuzzJSON: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let options = options(&choices)
        let text = choices.rest
        var lenient = JSONCoding.ReadingOptions.anyValue
        lenient.duplicateKeys = .lastWins
        lenient.outOfRange = .keep
        let all = try? JSONValue(parsing: text, options: lenient)
        guard let value = try? JSONValue(parsing: text, options: options) else { return }
        require(all != nil, "a text is taken by strict options alone")
        if options.outOfRange == .fail { require(value.isFinite, "a number beyond the range of Double is taken") }
        checkRoundTrip(value, options.outOfRange)
        if let all { checkRoundTrip(all, .keep) }
    }

    private static func options(_ choices: inout Choices) -> JSONCoding.ReadingOptions {
        var options = JSONCoding.ReadingOptions()
        options.allowsFragments = choices.flag()
        options.bigNumbers = choices.flag() ? .fail : .keep
        options.outOfRange = choices.one(of: [.fail, .infinity, .keep])
        options.duplicateKeys = choices.one(of: [.firstWins, .lastWins, .fail])
        options.removesKeysWithNullValues = choices.flag()
        options.maximumDepth = choices.one(of: [512, 3, 20])
        return options
    }

    private static func checkRoundTrip(_ value: JSONValue, _ outOfRange: JSONCoding.ReadingOptions.OutOfRangeNumbers) {
        var options = JSONCoding.ReadingOptions.anyValue
        options.outOfRange = outOfRange
        let written = value.jsonBytes()
        guard let again = try? JSONValue(parsing: written, options: options) else {
            return require(false, "what was written is not read: \(value)")
        }
        requireEqual(again, value, "a value is another when it is read again")
        requireEqual(again.jsonBytes(), written, "a value is written otherwise when it is read again")
        require(again.hashValue == value.hashValue, "equal values have different hashes")
        requireEqual(
            try? JSONValue(parsing: value.jsonBytes(sortsKeys: true), options: options), value,
            "a value with sorted keys is another")
    }
}

extension JSONValue {
    /// True if each number in the value is representable as a Double.
    fileprivate var isFinite: Bool {
        switch self {
        case .array(let values): values.allSatisfy(\.isFinite)
        case .object(let object): object.allSatisfy { $0.value.isFinite }
        case .number(let number): number.double?.isFinite == true
        default: true
        }
    }
}
