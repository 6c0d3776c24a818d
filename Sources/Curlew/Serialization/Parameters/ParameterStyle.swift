/// The style in which parameters become pairs of name and value: in queries, in forms, and in the fields of multipart bodies.
///
/// The defaults are AFNetworking's, but for three things that it had no good answer to: data is written as Base 64,
/// numbers that are not finite are refused, and so are parameters that are no dictionary.
///
/// ```swift
/// var style = ParameterStyle()
/// style.arrays = .indexed
/// style.dates = .iso8601
/// ```
public struct ParameterStyle: Sendable {
    /// The names of an array's members, such as `a[]`. ``ParameterStyle/ArrayStyle/brackets`` by default.
    public var arrays = ParameterStyle.ArrayStyle.brackets
    /// The names of values within dictionaries, such as `a[b]`. ``ParameterStyle/NestingStyle/brackets`` by default.
    public var nesting = ParameterStyle.NestingStyle.brackets
    /// In which order the keys of dictionaries go. ``ParameterStyle/KeyOrder/sorted`` by default.
    public var keyOrder = ParameterStyle.KeyOrder.sorted
    /// The words for true and false. ``ParameterStyle/BooleanStyle/numeric`` by default.
    public var booleans = ParameterStyle.BooleanStyle.numeric
    /// The form of null. ``ParameterStyle/NullStyle/nameAlone`` by default.
    public var nulls = ParameterStyle.NullStyle.nameAlone
    /// The form in which points in time are written. ``ParameterStyle/DateStyle/description`` by default.
    public var dates = ParameterStyle.DateStyle.description
    /// The form in which bytes are written. ``ParameterStyle/DataStyle/base64`` by default. Multipart bodies have them as they are.
    public var data = ParameterStyle.DataStyle.base64
    /// The treatment of infinity and NaN. ``ParameterStyle/NonFiniteStyle/refused`` by default.
    public var nonFinite = ParameterStyle.NonFiniteStyle.refused
    /// The form of a space in a query or form. ``ParameterStyle/SpaceStyle/percentEncoded`` by default.
    public var spaces = ParameterStyle.SpaceStyle.percentEncoded

    public init() {}
}

extension ParameterStyle {
    /// The names of an array's members, such as `a[]`.
    public struct ArrayStyle: Sendable, Hashable {
        enum Kind { case brackets, indexed, repeated, commas }

        let kind: Kind

        /// `k[]=1&k[]=2`. Servers cannot always tell where one of several dictionaries ends and the next begins;
        /// use ``indexed`` for arrays of dictionaries.
        public static let brackets = ParameterStyle.ArrayStyle(kind: .brackets)
        /// `k[0]=1&k[1]=2`.
        public static let indexed = ParameterStyle.ArrayStyle(kind: .indexed)
        /// `k=1&k=2`.
        public static let repeated = ParameterStyle.ArrayStyle(kind: .repeated)
        /// `k=1,2`. Commas within a member are escaped, those between are not. Only for members that are not dictionaries,
        /// arrays or sets; those are ``ErrorCode/encodingFailed``.
        public static let commas = ParameterStyle.ArrayStyle(kind: .commas)
    }
}

extension ParameterStyle {
    /// The names of values within dictionaries, such as `a[b]`.
    public struct NestingStyle: Sendable, Hashable {
        enum Kind { case brackets, dots }

        let kind: Kind

        /// `a[b]=1`.
        public static let brackets = ParameterStyle.NestingStyle(kind: .brackets)
        /// `a.b=1`.
        public static let dots = ParameterStyle.NestingStyle(kind: .dots)
    }
}

extension ParameterStyle {
    /// In which order the keys of dictionaries are written.
    public struct KeyOrder: Sendable, Hashable {
        enum Kind { case sorted, insertion }

        let kind: Kind

        /// Ascending by their UTF-8 bytes, at every level.
        public static let sorted = ParameterStyle.KeyOrder(kind: .sorted)
        /// As they were put in, or encoded. A Swift `Dictionary` has no order of its own.
        public static let insertion = ParameterStyle.KeyOrder(kind: .insertion)
    }
}

extension ParameterStyle {
    /// The words for true and false.
    public struct BooleanStyle: Sendable, Hashable {
        enum Kind { case numeric, literal }

        let kind: Kind

        /// `1` and `0`.
        public static let numeric = ParameterStyle.BooleanStyle(kind: .numeric)
        /// `true` and `false`.
        public static let literal = ParameterStyle.BooleanStyle(kind: .literal)
    }
}

extension ParameterStyle {
    /// The form of null.
    public struct NullStyle: Sendable, Hashable {
        enum Kind { case nameAlone, empty, dropped }

        let kind: Kind

        /// `k`.
        public static let nameAlone = ParameterStyle.NullStyle(kind: .nameAlone)
        /// `k=`.
        public static let empty = ParameterStyle.NullStyle(kind: .empty)
        /// Not at all.
        public static let dropped = ParameterStyle.NullStyle(kind: .dropped)
    }
}

extension ParameterStyle {
    /// The form of a space in a query or form.
    public struct SpaceStyle: Sendable, Hashable {
        enum Kind { case percentEncoded, plus }

        let kind: Kind

        /// `%20`, which every server understands.
        public static let percentEncoded = ParameterStyle.SpaceStyle(kind: .percentEncoded)
        /// `+`, as browsers write forms. A `+` itself is always `%2B`.
        public static let plus = ParameterStyle.SpaceStyle(kind: .plus)
    }
}

extension ParameterStyle {
    /// The text of a value that is no dictionary, array or set; null has none.
    func text(of value: ParameterValue) throws(ParameterFailure) -> String? {
        switch value {
        case .null: return nil
        case .string(let text): return text
        case .boolean(let value):
            switch booleans.kind {
            case .numeric: return value ? "1" : "0"
            case .literal: return value ? "true" : "false"
            }
        case .number(let number):
            return number.isFinite ? number.description : try nonFinite.text(of: number)
        case .data(let bytes): return try data.text(of: bytes)
        case .date(let date): return try text(of: dates.value(of: date))
        case .array, .dictionary, .set: throw ParameterFailure("is a tree where a single value is needed")
        }
    }

    /// The text of members with commas between them.
    func text(of list: [ParameterValue]) throws(ParameterFailure) -> String {
        var text = ""
        for (index, value) in list.enumerated() {
            if index > 0 { text += "," }
            do { text += try self.text(of: value) ?? "" } catch { throw error.inside(.index(index)) }
        }
        return text
    }
}

extension ParameterStyle {
    /// The style in which the keys of encoded types are named in parameters. The keys of dictionaries are left as they are.
    public struct KeyNaming: Sendable {
        enum Kind: Sendable {
            case asWritten
            case snakeCase
            case custom(@Sendable (String) -> String)
        }

        let kind: Kind

        /// As the type names them.
        public static let asWritten = ParameterStyle.KeyNaming(kind: .asWritten)

        /// `userName` becomes `user_name`, `baseURLText` becomes `base_url_text`, as Foundation's JSON encoder does it.
        public static let snakeCase = ParameterStyle.KeyNaming(kind: .snakeCase)

        /// Whatever the closure makes of a key.
        public static func custom(_ name: @escaping @Sendable (String) -> String) -> ParameterStyle.KeyNaming {
            ParameterStyle.KeyNaming(kind: .custom(name))
        }

        var isAsWritten: Bool {
            if case .asWritten = kind { true } else { false }
        }

        func name(of key: some CodingKey) -> String { name(of: key.stringValue) }

        func name(of key: String) -> String {
            switch kind {
            case .asWritten: key
            case .snakeCase: Self.snakeCase(key)
            case .custom(let name): name(key)
            }
        }

        /// An underscore goes before each capital that follows a small letter or digit, and before the last of several capitals
        /// that a small letter follows.
        private static func snakeCase(_ key: String) -> String {
            let characters = Array(key)
            var name = ""
            for (index, character) in characters.enumerated() {
                if index > 0, character.isUppercase, characters[index - 1] != "_" {
                    let followsSmall = !characters[index - 1].isUppercase
                    let precedesSmall = index + 1 < characters.count && characters[index + 1].isLowercase
                    if followsSmall || precedesSmall { name += "_" }
                }
                name += character.lowercased()
            }
            return name
        }
    }
}

extension ParameterStyle {
    /// The treatment of numbers that are infinite or not a number, for which neither JSON nor forms have a notation.
    public struct NonFiniteStyle: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case refused
            case text(positive: String, negative: String, notANumber: String)
        }

        let kind: Kind

        /// They are ``ErrorCode/encodingFailed``.
        public static let refused = ParameterStyle.NonFiniteStyle(kind: .refused)

        /// They are written as text.
        public static func text(
            positiveInfinity: String = "inf", negativeInfinity: String = "-inf", notANumber: String = "nan"
        ) -> ParameterStyle.NonFiniteStyle {
            ParameterStyle.NonFiniteStyle(
                kind: .text(positive: positiveInfinity, negative: negativeInfinity, notANumber: notANumber))
        }

        /// The number that is not finite and is written as this text; nil if it is another text.
        func number(from text: String) -> Double? {
            guard case .text(let positive, let negative, let notANumber) = kind else { return nil }
            if text == positive { return .infinity }
            if text == negative { return -.infinity }
            return text == notANumber ? .nan : nil
        }

        /// The text for a number that is not finite.
        func text(of number: ParameterValue.Number) throws(ParameterFailure) -> String {
            guard case .text(let positive, let negative, let notANumber) = kind else {
                throw ParameterFailure("is a number that is infinite or not a number")
            }
            let double = number.double
            return double.isNaN ? notANumber : double > 0 ? positive : negative
        }
    }
}
