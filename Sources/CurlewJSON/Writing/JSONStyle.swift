extension JSONCoding {
    /// The style in which parameters are written as JSON (RFC 8259), always in UTF-8.
    ///
    /// ```swift
    /// var style = JSONCoding.Style()
    /// style.options = [.sortedKeys, .withoutEscapingSlashes]
    /// ```
    public struct Style: Sendable {
        /// Options of the text.
        public struct Options: OptionSet, Sendable, Hashable {
            public let rawValue: Int

            public init(rawValue: Int) { self.rawValue = rawValue }

            /// Keys ascending by their UTF-8 bytes. Without it they stand as they were put in, or encoded.
            public static let sortedKeys = Options(rawValue: 1)
            /// Lines and indentation for human readers.
            public static let prettyPrinted = Options(rawValue: 2)
            /// `/` stands as it is. Without it it is written `\/`, as Foundation does by default.
            public static let withoutEscapingSlashes = Options(rawValue: 4)
            /// The top may be something else than a dictionary or a list.
            public static let fragmentsAllowed = Options(rawValue: 8)
        }

        /// The options of the text. None by default.
        public var options: Options = []
        /// The form in which points in time are written. ``ParameterValue/DateStyle/iso8601`` by default.
        public var dates = ParameterValue.DateStyle.iso8601
        /// The form in which bytes are written. ``ParameterValue/DataStyle/base64`` by default.
        public var data = ParameterValue.DataStyle.base64
        /// The treatment of infinity and NaN. ``ParameterValue/NonFiniteStyle/refused`` by default.
        public var nonFinite = ParameterValue.NonFiniteStyle.refused

        public init() {}
    }
}

extension ParameterValue {
    /// The tree as JSON. A set becomes a list, sorted by what its members are described as.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed``: a number is not finite, the tree is too deep, a date
    ///   cannot be written, or the top is neither a dictionary nor a list.
    public func json(style: JSONCoding.Style = JSONCoding.Style()) throws -> [UInt8] {
        var writer = JSONWriter(style: style)
        do throws(ParameterFailure) { try writer.write(self) } catch { throw error.error }
        return writer.output
    }
}
