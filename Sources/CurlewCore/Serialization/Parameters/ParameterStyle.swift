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
        /// The form of dates. ``ParameterValue/DateStyle/description`` by default.
        public var dates = RequestParameters.Style.DateStyle.description
        /// The form of bytes. ``ParameterValue/DataStyle/base64`` by default. Multipart bodies contain the bytes
        /// themselves.
        public var data = RequestParameters.Style.DataStyle.base64
        /// The treatment of infinity and NaN. ``ParameterValue/NonFiniteStyle/refused`` by default.
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

// The styles that JSON has as well.
extension RequestParameters.Style {
    /// The form of dates.
    public typealias DateStyle = ParameterValue.DateStyle
    /// The form of bytes where only text is possible.
    public typealias DataStyle = ParameterValue.DataStyle
    /// The treatment of infinite numbers and NaN, for which forms have no notation.
    public typealias NonFiniteStyle = ParameterValue.NonFiniteStyle
    /// The style of the keys of encoded types.
    public typealias KeyNaming = ParameterEncoder.KeyNaming
}
