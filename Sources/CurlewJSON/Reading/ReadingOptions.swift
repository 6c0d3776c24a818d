extension JSONCoding {
    /// The rules for reading JSON.
    ///
    /// With all options the text must conform to RFC 8259: comments, trailing commas, `NaN`, bytes that are not UTF-8,
    /// and escapes of half a surrogate pair are errors.
    public struct ReadingOptions: Sendable, Hashable {
        /// The treatment of a name that occurs twice in one object.
        public struct DuplicateKeys: Sendable, Hashable {
            enum Policy { case firstWins, lastWins, fail }

            let policy: Policy

            /// The first value counts, as with Foundation's decoder. It is the default, and the fastest.
            public static let firstWins = DuplicateKeys(policy: .firstWins)
            /// The last value counts, as in ECMAScript.
            public static let lastWins = DuplicateKeys(policy: .lastWins)
            /// A duplicate name is an error.
            public static let fail = DuplicateKeys(policy: .fail)
        }

        /// The treatment of numbers that fit neither 64-bit integers nor doubles exactly: integers beyond 64 bits,
        /// numbers with more than 17 significant digits, and numbers too close to zero.
        ///
        /// As a `Double` such a number is the nearest one, and zero for `1e-400`, as with `JSON.parse` of ECMAScript.
        public struct BigNumbers: Sendable, Hashable {
            let isKept: Bool

            /// ``JSONValue/Number`` keeps the text of such a number, unless it is beyond the range of `Double`
            /// (``OutOfRangeNumbers``). The default.
            public static let keep = BigNumbers(isKept: true)
            /// Such a number is an error.
            public static let fail = BigNumbers(isKept: false)
        }

        /// The treatment of numbers beyond the range of `Double`, such as `1e400`, which most JSON readers treat as
        /// infinity.
        public struct OutOfRangeNumbers: Sendable, Hashable {
            enum Policy { case fail, infinity, keep }

            let policy: Policy

            /// Such a number anywhere in the text is an error with the number's position. The default.
            public static let fail = OutOfRangeNumbers(policy: .fail)
            /// A `Double` or `Float` is infinite, as with `JSON.parse` of ECMAScript. Numbers beyond the range of
            /// `Float` are infinite as a `Float`.
            ///
            /// ``JSONValue/Number/double`` is infinite as well; the ``JSONValue/Number`` is written with its original
            /// digits.
            public static let infinity = OutOfRangeNumbers(policy: .infinity)
            /// ``JSONValue/Number`` keeps the text. Reading it as a `Double` is an error with its coding path.
            public static let keep = OutOfRangeNumbers(policy: .keep)
        }

        /// The largest depth of arrays and objects. 512 by default, which is also the upper limit.
        ///
        /// Foundation's decoder has the same limit. All operations on a value of this depth use less than half of the 8
        /// MiB of stack that a thread has on Linux.
        public var maximumDepth = 512 {
            didSet { maximumDepth = Self.clamped(maximumDepth) }
        }
        /// The treatment of a name that occurs twice in one object.
        public var duplicateKeys = DuplicateKeys.firstWins
        /// The treatment of numbers that fit no numeric type.
        public var bigNumbers = BigNumbers.keep
        /// The treatment of numbers beyond the range of `Double`.
        public var outOfRange = OutOfRangeNumbers.fail
        /// True if the text may be a single string, number, boolean or null. With false, the default, it must be an
        /// object or an array.
        public var allowsFragments = false
        /// True if null members are removed from objects, and nulls from arrays, at every level.
        public var removesKeysWithNullValues = false

        /// The largest number of consecutive combining marks in a name: 128. By UAX #15 §13 no writing system needs
        /// more than 30.
        ///
        /// The time that Swift and Foundation take to compare names grows with the square of this number.
        public static let combiningMarkLimit = 128

        public init() {}

        /// The default rules, with fragments.
        public static var anyValue: JSONCoding.ReadingOptions {
            var options = JSONCoding.ReadingOptions()
            options.allowsFragments = true
            return options
        }

        private static func clamped(_ depth: Int) -> Int { min(max(depth, 1), 512) }
    }
}
