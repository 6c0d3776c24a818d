extension JSONCoding {
    /// An error of JSON text that cannot be read, or of a value that cannot be written.
    ///
    /// It has the place and the reason, and nothing of what stands there: text and values may be secret. Text that is JSON but not the
    /// type that was asked for is a `DecodingError`.
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

            /// The text is not JSON by the rules of reading.
            public static let decodingFailed = Code(kind: .decodingFailed)
            /// The value cannot be written.
            public static let encodingFailed = Code(kind: .encodingFailed)
        }

        /// A place in a text. It counts bytes of the text in UTF-8 without a byte order mark, whatever encoding the text came in.
        public struct Position: Sendable, Hashable {
            /// The bytes before the place.
            public let offset: Int
            /// The line, from 1 on. Lines end with LF.
            public let line: Int
            /// The byte in the line, from 1 on.
            public let column: Int
        }

        /// The kind of failure.
        public let code: Code
        /// The reason in words, to be read behind ``path`` or before ``position``.
        public let reason: String
        /// The place in the text that was read; nil if the text as a whole is at fault.
        public let position: Position?
        /// The place in the value that was written, such as `user.tags[3]`; empty for the whole value, and nil if another encoder wrote
        /// it. Names of keys are in it, without control characters; it is cut at 200 characters.
        public let path: String?
        /// The error beneath: what the value's own code or another encoder threw.
        public let underlying: (any Error)?

        /// A text that cannot be read.
        init(reading reason: String, at position: Position? = nil) {
            code = .decodingFailed
            self.reason = reason
            self.position = position
            path = nil
            underlying = nil
        }

        /// A value that cannot be written.
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
    /// The reason and the place in one line.
    public var description: String {
        guard let path else { return message }
        return path.isEmpty ? "the value \(reason)" : "the value at \(path) \(reason)"
    }

    /// The reason, and the position in the text if there is one.
    package var message: String {
        position.map { "\(reason), at line \($0.line), column \($0.column)" } ?? reason
    }
}
