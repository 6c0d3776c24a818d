/// How JSON is read.
///
/// The text must be what RFC 8259 says, whatever the options: no comments, no trailing commas, no `NaN`, no bytes that are
/// not UTF-8, no escapes of half a surrogate pair.
public struct JSONReadingOptions: Sendable, Hashable {
    /// What becomes of a name that occurs twice in one object.
    public struct DuplicateKeys: Sendable, Hashable {
        enum Policy { case firstWins, lastWins, fail }

        let policy: Policy

        /// The first value counts, as with Foundation's decoder. The default, and the cheapest.
        public static let firstWins = DuplicateKeys(policy: .firstWins)
        /// The last value counts, as in ECMAScript.
        public static let lastWins = DuplicateKeys(policy: .lastWins)
        /// It is an error.
        public static let fail = DuplicateKeys(policy: .fail)
    }

    /// What becomes of numbers that neither 64-bit integers nor doubles hold: beyond their range, or with more than 17
    /// significant digits.
    public struct BigNumbers: Sendable, Hashable {
        let isKept: Bool

        /// ``JSONNumber`` keeps their text. The default.
        public static let keep = BigNumbers(isKept: true)
        /// They are an error.
        public static let fail = BigNumbers(isKept: false)
    }

    /// How deep arrays and objects may be nested. 512 by default, and at most: it is the bound of Foundation's decoder too,
    /// and whatever is done with a value of that depth takes less than half of the 8 MiB of stack that a thread has on Linux.
    public var maximumDepth = 512 {
        didSet { maximumDepth = Self.clamped(maximumDepth) }
    }
    /// What becomes of a name that occurs twice in one object.
    public var duplicateKeys = DuplicateKeys.firstWins
    /// What becomes of numbers that fit no type.
    public var bigNumbers = BigNumbers.keep
    /// Whether the text may be a string, a number, a truth value or null by itself. If not, it must be an object or an
    /// array. AFNetworking's default is that it may not, and so it is here.
    public var allowsFragments = false
    /// Whether members that are null are taken out of objects, and nulls out of arrays, at every level.
    public var removesKeysWithNullValues = false

    /// The most combining marks in a row that a name may have: 128; UAX #15 §13 takes 30 for more than any writing needs.
    /// The time to compare names, as Swift and Foundation do it, grows with the square of their number.
    public static let combiningMarkLimit = 128

    public init() {}

    /// The defaults, and fragments too.
    public static var anyValue: JSONReadingOptions {
        var options = JSONReadingOptions()
        options.allowsFragments = true
        return options
    }

    private static func clamped(_ depth: Int) -> Int { min(max(depth, 1), 512) }
}
