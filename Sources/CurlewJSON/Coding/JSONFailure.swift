extension JSONCoding {
    /// An error for JSON text that cannot be read, or for a value that cannot be written.
    ///
    /// It contains the reason and the position or path, and no part of the text or value, which may be secret. Valid
    /// JSON that does not match the requested type is a `DecodingError` instead.
    ///
    /// ```swift
    /// do {
    ///     let value = try JSONValue(parsing: bytes)
    /// } catch let error as JSONCoding.Failure {
    ///     print(error.reason, error.position?.line ?? 0)
    /// }
    /// ```
    public struct Failure: Error, Sendable {
        /// The kind of failure.
        public struct Code: Sendable, Hashable {
            enum Kind { case decodingFailed, encodingFailed }

            let kind: Kind

            /// The text is not JSON by the reading rules.
            public static let decodingFailed = Code(kind: .decodingFailed)
            /// The value cannot be written.
            public static let encodingFailed = Code(kind: .encodingFailed)
        }

        /// A position in a text. For every encoding of the text it counts bytes of UTF-8, without a byte order mark.
        public struct Position: Sendable, Hashable {
            /// The number of bytes before the position.
            public let offset: Int
            /// The number of the line, from 1. Lines end with LF.
            public let line: Int
            /// The number of the byte in its line, from 1.
            public let column: Int
        }

        /// The kind of failure.
        public let code: Code
        /// The reason in words: a predicate for ``path``, or a clause before ``position``.
        public let reason: String
        /// The position in the text that was read; nil if the error concerns the entire text.
        public let position: Position?
        /// The path in the value that was written, such as `user.tags[3]`.
        ///
        /// It is empty for the top value, and nil for an error of another encoder. It contains the names of keys
        /// without control characters, and is cut at 200 characters.
        public let path: String?
        /// The error of the value's own code or of another encoder.
        public let underlying: (any Error)?

        /// Creates the error for a text that cannot be read.
        init(reading reason: String, at position: Position? = nil) {
            code = .decodingFailed
            self.reason = reason
            self.position = position
            path = nil
            underlying = nil
        }

        /// Creates the error for a value that cannot be written.
        init(writing reason: String, at path: String?, underlying: (any Error)?) {
            code = .encodingFailed
            self.reason = reason
            position = nil
            self.path = path
            self.underlying = underlying
        }
    }
}

extension JSONCoding.Failure: CustomStringConvertible {
    /// The reason and the position or path in one line.
    public var description: String {
        guard let path else { return message }
        return path.isEmpty ? "the value \(reason)" : "the value at \(path) \(reason)"
    }

    /// The reason, and the position in the text if there is one.
    package var message: String {
        position.map { "\(reason), at line \($0.line), column \($0.column)" } ?? reason
    }
}
