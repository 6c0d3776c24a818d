extension JSONCoding {
    /// The rules by which JSON is read.
    ///
    /// The text must be what RFC 8259 says, whatever the options: no comments, no trailing commas, no `NaN`, no bytes that are
    /// not UTF-8, no escapes of half a surrogate pair.
    public struct ReadingOptions: Sendable, Hashable {
        /// The treatment of a name that occurs twice in one object.
        public struct DuplicateKeys: Sendable, Hashable {
            enum Policy { case firstWins, lastWins, fail }

            let policy: Policy

            /// The first value counts, as with Foundation's decoder. The default, and the cheapest.
            public static let firstWins = DuplicateKeys(policy: .firstWins)
            /// The last value counts, as in ECMAScript.
            public static let lastWins = DuplicateKeys(policy: .lastWins)
            /// An error.
            public static let fail = DuplicateKeys(policy: .fail)
        }

        /// The treatment of numbers that neither 64-bit integers nor doubles hold as they came: integers beyond 64 bits, more than 17
        /// significant digits, and numbers too close to zero. A `Double` is the nearest one, and zero for `1e-400`, as with `JSON.parse` of ECMAScript.
        public struct BigNumbers: Sendable, Hashable {
            let isKept: Bool

            /// ``JSONValue/Number`` keeps their text, unless they are beyond the range of `Double` (``OutOfRangeNumbers``). The default.
            public static let keep = BigNumbers(isKept: true)
            /// They are an error.
            public static let fail = BigNumbers(isKept: false)
        }

        /// The treatment of numbers beyond the range of `Double`, such as `1e400`, which most readers of JSON take for infinity.
        public struct OutOfRangeNumbers: Sendable, Hashable {
            enum Policy { case fail, infinity, keep }

            let policy: Policy

            /// An error with the number's position, wherever it stands in the text. The default.
            public static let fail = OutOfRangeNumbers(policy: .fail)
            /// A `Double` or `Float` is infinite, as with `JSON.parse` of ECMAScript; so is ``JSONValue/Number/double``, which is written with
            /// the digits that came. Numbers beyond the range of `Float` are infinite as a `Float`.
            public static let infinity = OutOfRangeNumbers(policy: .infinity)
            /// ``JSONValue/Number`` keeps the text. A `Double` that is read from it is an error with its coding path.
            public static let keep = OutOfRangeNumbers(policy: .keep)
        }

        /// The deepest nesting of arrays and objects. 512 by default, and at most: it is the bound of Foundation's decoder too,
        /// and whatever is done with a value of that depth takes less than half of the 8 MiB of stack that a thread has on Linux.
        public var maximumDepth = 512 {
            didSet { maximumDepth = Self.clamped(maximumDepth) }
        }
        /// The treatment of a name that occurs twice in one object.
        public var duplicateKeys = DuplicateKeys.firstWins
        /// The treatment of numbers that fit no type.
        public var bigNumbers = BigNumbers.keep
        /// The treatment of numbers beyond the range of `Double`.
        public var outOfRange = OutOfRangeNumbers.fail
        /// True if the text may be a string, a number, a truth value or null by itself. If not, the default, it must be an
        /// object or an array.
        public var allowsFragments = false
        /// True if members that are null are taken out of objects, and nulls out of arrays, at every level.
        public var removesKeysWithNullValues = false

        /// The most combining marks in a row that a name may have: 128; UAX #15 §13 takes 30 for more than any writing needs.
        /// The time to compare names, as Swift and Foundation do it, grows with the square of their number.
        public static let combiningMarkLimit = 128

        public init() {}

        /// The defaults, and fragments too.
        public static var anyValue: JSONCoding.ReadingOptions {
            var options = JSONCoding.ReadingOptions()
            options.allowsFragments = true
            return options
        }

        private static func clamped(_ depth: Int) -> Int { min(max(depth, 1), 512) }
    }
}
