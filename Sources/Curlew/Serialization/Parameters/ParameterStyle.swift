extension RequestParameters {
    /// The style of parameters as pairs of name and value: in queries, in forms, and in the fields of multipart bodies.
    ///
    /// The defaults are AFNetworking's, with three exceptions: data is written as Base 64, numbers that are not finite
    /// are refused, and the parameters must be a dictionary.
    ///
    /// ```swift
    /// var style = RequestParameters.Style()
    /// style.arrays = .indexed
    /// style.dates = .iso8601
    /// ```
    public struct Style: Sendable {
        /// The names of an array's members, such as `a[]`. ``RequestParameters/Style/ArrayStyle/brackets`` by default.
        public var arrays = RequestParameters.Style.ArrayStyle.brackets
        /// The names of values within dictionaries, such as `a[b]`. ``RequestParameters/Style/NestingStyle/brackets``
        /// by default.
        public var nesting = RequestParameters.Style.NestingStyle.brackets
        /// The order of the keys of dictionaries. ``RequestParameters/Style/KeyOrder/sorted`` by default.
        public var keyOrder = RequestParameters.Style.KeyOrder.sorted
        /// The text of true and false. ``RequestParameters/Style/BooleanStyle/numeric`` by default.
        public var booleans = RequestParameters.Style.BooleanStyle.numeric
        /// The form of null. ``RequestParameters/Style/NullStyle/nameAlone`` by default.
        public var nulls = RequestParameters.Style.NullStyle.nameAlone
        /// The form of dates. ``RequestParameters/Style/DateStyle/description`` by default.
        public var dates = RequestParameters.Style.DateStyle.description
        /// The form of bytes. ``RequestParameters/Style/DataStyle/base64`` by default. Multipart bodies contain the
        /// bytes themselves.
        public var data = RequestParameters.Style.DataStyle.base64
        /// The treatment of infinity and NaN. ``RequestParameters/Style/NonFiniteStyle/refused`` by default.
        public var nonFinite = RequestParameters.Style.NonFiniteStyle.refused
        /// The form of a space in a query or form. ``RequestParameters/Style/SpaceStyle/percentEncoded`` by default.
        public var spaces = RequestParameters.Style.SpaceStyle.percentEncoded

        public init() {}
    }
}

extension RequestParameters.Style {
    /// The names of an array's members, such as `a[]`.
    public struct ArrayStyle: Sendable, Hashable {
        enum Kind { case brackets, indexed, repeated, commas }

        let kind: Kind

        /// `k[]=1&k[]=2`. Servers cannot always determine where one of several dictionaries ends; use ``indexed`` for
        /// arrays of dictionaries.
        public static let brackets = RequestParameters.Style.ArrayStyle(kind: .brackets)
        /// `k[0]=1&k[1]=2`.
        public static let indexed = RequestParameters.Style.ArrayStyle(kind: .indexed)
        /// `k=1&k=2`.
        public static let repeated = RequestParameters.Style.ArrayStyle(kind: .repeated)
        /// `k=1,2`. Commas within a member are escaped, separating commas are not. Members that are dictionaries,
        /// arrays or sets are ``ErrorCode/encodingFailed``.
        public static let commas = RequestParameters.Style.ArrayStyle(kind: .commas)
    }
}

extension RequestParameters.Style {
    /// The names of values within dictionaries, such as `a[b]`.
    public struct NestingStyle: Sendable, Hashable {
        enum Kind { case brackets, dots }

        let kind: Kind

        /// `a[b]=1`.
        public static let brackets = RequestParameters.Style.NestingStyle(kind: .brackets)
        /// `a.b=1`.
        public static let dots = RequestParameters.Style.NestingStyle(kind: .dots)
    }
}

extension RequestParameters.Style {
    /// The order of the keys of dictionaries.
    public struct KeyOrder: Sendable, Hashable {
        enum Kind { case sorted, insertion }

        let kind: Kind

        /// The keys in ascending order of their UTF-8 bytes, at every level.
        public static let sorted = RequestParameters.Style.KeyOrder(kind: .sorted)
        /// The order of insertion or encoding. A Swift `Dictionary` has no defined order.
        public static let insertion = RequestParameters.Style.KeyOrder(kind: .insertion)
    }
}

extension RequestParameters.Style {
    /// The text of true and false.
    public struct BooleanStyle: Sendable, Hashable {
        enum Kind { case numeric, literal }

        let kind: Kind

        /// `1` and `0`.
        public static let numeric = RequestParameters.Style.BooleanStyle(kind: .numeric)
        /// `true` and `false`.
        public static let literal = RequestParameters.Style.BooleanStyle(kind: .literal)
    }
}

extension RequestParameters.Style {
    /// The form of null.
    public struct NullStyle: Sendable, Hashable {
        enum Kind { case nameAlone, empty, dropped }

        let kind: Kind

        /// `k`.
        public static let nameAlone = RequestParameters.Style.NullStyle(kind: .nameAlone)
        /// `k=`.
        public static let empty = RequestParameters.Style.NullStyle(kind: .empty)
        /// No pair.
        public static let dropped = RequestParameters.Style.NullStyle(kind: .dropped)
    }
}

extension RequestParameters.Style {
    /// The form of a space in a query or form.
    public struct SpaceStyle: Sendable, Hashable {
        enum Kind { case percentEncoded, plus }

        let kind: Kind

        /// `%20`, which every server accepts.
        public static let percentEncoded = RequestParameters.Style.SpaceStyle(kind: .percentEncoded)
        /// `+`, as in forms of browsers. A `+` itself is always `%2B`.
        public static let plus = RequestParameters.Style.SpaceStyle(kind: .plus)
    }
}

extension RequestParameters.Style {
    /// The text of a value that is not a dictionary, array or set; nil for null.
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

    /// The text of members, separated by commas.
    func text(of list: [ParameterValue]) throws(ParameterFailure) -> String {
        var text = ""
        for (index, value) in list.enumerated() {
            if index > 0 { text += "," }
            do { text += try self.text(of: value) ?? "" } catch { throw error.inside(.index(index)) }
        }
        return text
    }
}

extension RequestParameters.Style {
    /// The style of the keys of encoded types. The keys of dictionaries are not changed.
    public struct KeyNaming: Sendable {
        enum Kind: Sendable {
            case asWritten
            case snakeCase
            case custom(@Sendable (String) -> String)
        }

        let kind: Kind

        /// The names of the type.
        public static let asWritten = RequestParameters.Style.KeyNaming(kind: .asWritten)

        /// Snake case: `userName` becomes `user_name`, `baseURLText` becomes `base_url_text`, as in Foundation's JSON
        /// encoder.
        public static let snakeCase = RequestParameters.Style.KeyNaming(kind: .snakeCase)

        /// The result of a closure for each key.
        public static func custom(_ name: @escaping @Sendable (String) -> String) -> RequestParameters.Style.KeyNaming {
            RequestParameters.Style.KeyNaming(kind: .custom(name))
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

        /// The name in snake case. An underscore is inserted before each capital that follows a small letter or digit,
        /// and before the last of several capitals if a small letter follows.
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

extension RequestParameters.Style {
    /// The treatment of infinite numbers and NaN, for which neither JSON nor forms have a notation.
    public struct NonFiniteStyle: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case refused
            case text(positive: String, negative: String, notANumber: String)
        }

        let kind: Kind

        /// Non-finite numbers are ``ErrorCode/encodingFailed``.
        public static let refused = RequestParameters.Style.NonFiniteStyle(kind: .refused)

        /// Non-finite numbers are written as text.
        public static func text(
            positiveInfinity: String = "inf", negativeInfinity: String = "-inf", notANumber: String = "nan"
        ) -> RequestParameters.Style.NonFiniteStyle {
            RequestParameters.Style.NonFiniteStyle(
                kind: .text(positive: positiveInfinity, negative: negativeInfinity, notANumber: notANumber))
        }

        /// The non-finite number for this text; nil for other texts.
        func number(from text: String) -> Double? {
            guard case .text(let positive, let negative, let notANumber) = kind else { return nil }
            if text == positive { return .infinity }
            if text == negative { return -.infinity }
            return text == notANumber ? .nan : nil
        }

        /// The text for a non-finite number.
        func text(of number: ParameterValue.Number) throws(ParameterFailure) -> String {
            guard case .text(let positive, let negative, let notANumber) = kind else {
                throw ParameterFailure("is a number that is infinite or not a number")
            }
            let double = number.double
            return double.isNaN ? notANumber : double > 0 ? positive : negative
        }
    }
}
