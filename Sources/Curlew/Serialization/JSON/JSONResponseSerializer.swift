/// Reads JSON into a `Decodable` type or a ``JSONValue``.
///
/// By default it takes `application/json`, `text/json`, `text/javascript` and every type with the suffix `+json`, and
/// asks for them in Accept. The text is checked against RFC 8259 and ``options`` before it is decoded.
///
/// ```swift
/// var serializer = JSONResponseSerializer<[Reading]>(coding: JSONCoding(keys: .snakeCase))
/// serializer.options.duplicateKeys = .fail
/// ```
///
/// An empty body, or one of white space, is nil for an optional type, ``NoContent`` for that, and ``ErrorCode/emptyBody``
/// for any other type. The body of a status that is not taken is decoded too; if the type does not fit it, it is a
/// ``JSONValue`` in ``CurlewError/parsedBody``.
public struct JSONResponseSerializer<Value: Decodable & Sendable>: BodyResponseSerializer {
    // Said, as the compiler does not find it in every order of files.
    public typealias Output = Value

    public var acceptance = ResponseAcceptance(.json)
    /// The rules by which the text is read.
    public var options: JSONCoding.ReadingOptions
    /// At which statuses an empty body is the value that stands for one. At others it is ``ErrorCode/emptyBody``. Any by
    /// default.
    public var emptyBodyStatuses = ResponseAcceptance.Statuses.any
    /// The dialect of the text, but for its ``JSONCoding/reading``, which ``options`` stand for. nil, the default, is that of
    /// the session that brings the response.
    public var coding: JSONCoding?

    /// - Parameters:
    ///   - type: What to make of the text.
    ///   - options: How the text is read.
    ///   - coding: The dialect of the text; nil is that of the session that brings the response.
    public init(
        _ type: Value.Type = Value.self, options: JSONCoding.ReadingOptions = JSONCoding.ReadingOptions(),
        coding: JSONCoding? = nil
    ) {
        self.options = options
        self.coding = coding
    }

    public var acceptField: String? { "application/json" }
    public var format: String { JSONFormat.name }

    public func decode(_ response: CurlewResponse.Collected) throws -> Value {
        if JSONSource.isBlank(response.body) {
            guard emptyBodyStatuses.contains(response.status), let value = emptyBody(for: Value.self) else {
                throw CurlewError(.emptyBody, "there is no body, and the type that was asked for needs one")
            }
            return value
        }
        return try JSONReader(options: options, coding: coding ?? response.json).decode(
            Value.self, from: response.body)
    }

    public func decodeFailure(_ response: CurlewResponse.Collected) throws -> any Sendable {
        if let value = try? decode(response) { return value }
        var lenient = options
        lenient.allowsFragments = true
        return try JSONValue(parsing: response.body, options: lenient)
    }

    /// The same serializer with a model for the JSON of statuses that are not taken.
    ///
    /// ```swift
    /// let serializer = JSONResponseSerializer<User>().orFailure(Problem.self)
    /// ```
    ///
    /// The error is ``ErrorCode/unacceptableStatus`` as ever; ``CurlewError/failure(as:)`` has the value.
    public func orFailure<Failure: Decodable & Sendable>(
        _ type: Failure.Type
    ) -> ResponseSerializers.OrFailure<Self, JSONResponseSerializer<Failure>> {
        orFailure(JSONResponseSerializer<Failure>(options: options, coding: coding))
    }
}

extension ResponseSerializer {
    /// The body as JSON of a type.
    public static func json<Model: Decodable & Sendable>(
        _ type: Model.Type, options: JSONCoding.ReadingOptions = JSONCoding.ReadingOptions(), coding: JSONCoding? = nil
    ) -> Self where Self == JSONResponseSerializer<Model> {
        JSONResponseSerializer(type, options: options, coding: coding)
    }

    /// What `as: Model.self` stands for: the body as JSON, whatever its media type and whatever value is at the top.
    static func model<Model: Decodable & Sendable>(
        _ type: Model.Type, statuses: ResponseAcceptance.Statuses = .successful, bodyLimit: ByteSize? = nil
    ) -> Self where Self == JSONResponseSerializer<Model> {
        var serializer = JSONResponseSerializer(type, options: .anyValue)
        serializer.acceptance = ResponseAcceptance(.any)
        serializer.acceptance.statuses = statuses
        serializer.acceptance.bodyLimit = bodyLimit
        return serializer
    }
}

/// JSON among the formats.
enum JSONFormat {
    static let name = "JSON"
}

extension ResponseAcceptance.ContentTypes {
    /// The media types of JSON, those that end in `+json` among them.
    static let json = ResponseAcceptance.ContentTypes.types(.json, .textJSON, .javaScript)
}

/// The value of a type that stands for an empty body, if it has one.
func emptyBody<Value>(for type: Value.Type) -> Value? {
    (type as? any EmptyBodyRepresentable.Type)?.valueOfEmptyBody as? Value
}

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
        /// True if the text may be a string, a number, a truth value or null by itself. If not, it must be an object or an
        /// array. AFNetworking's default is that it may not, and so it is here.
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
