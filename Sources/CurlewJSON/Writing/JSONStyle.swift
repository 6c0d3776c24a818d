extension JSONCoding {
    /// The style of parameters as JSON (RFC 8259), always in UTF-8.
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

            /// Keys are sorted by their UTF-8 bytes in ascending order. Without this option they keep the order of
            /// insertion or encoding.
            public static let sortedKeys = Options(rawValue: 1)
            /// The text has lines and indentation for human readers.
            public static let prettyPrinted = Options(rawValue: 2)
            /// Slashes are written as `/`. Without this option they are written as `\/`, Foundation's default.
            public static let withoutEscapingSlashes = Options(rawValue: 4)
            /// The top may be any value. Without this option it must be a dictionary or a list.
            public static let fragmentsAllowed = Options(rawValue: 8)
        }

        /// The options of the text. Empty by default.
        public var options: Options = []
        /// The form of dates. ``ParameterValue/DateStyle/iso8601`` by default.
        public var dates = ParameterValue.DateStyle.iso8601
        /// The form of bytes. ``ParameterValue/DataStyle/base64`` by default.
        public var data = ParameterValue.DataStyle.base64
        /// The treatment of infinity and NaN. ``ParameterValue/NonFiniteStyle/refused`` by default.
        public var nonFinite = ParameterValue.NonFiniteStyle.refused

        public init() {}
    }
}

extension ParameterValue {
    /// The tree as JSON. A set becomes a list, sorted by the descriptions of its members.
    /// - Throws: ``JSONCoding/Failure`` with ``JSONCoding/Failure/Code/encodingFailed`` if the tree contains a number
    ///   that is not finite or a date that cannot be written, is too deep, or is neither a dictionary nor a list.
    public func json(style: JSONCoding.Style = JSONCoding.Style()) throws -> [UInt8] {
        var writer = JSONWriter(style: style)
        do throws(ParameterFailure) { try writer.write(self) } catch { throw error.error }
        return writer.output
    }
}
