#if TestKit
public import Curlew

extension StubAnswer {
    /// The body of a response: chunks that arrive one by one, and may break off.
    public struct Body: Sendable {
        var chunks: [[UInt8]]
        var isLengthKnown = true
        var pause: Duration?
        var breakage: (count: Int, code: ErrorCode)?

        /// No body.
        public static let none = Body(chunks: [])

        /// A body of these bytes, in one chunk.
        public static func bytes(_ bytes: [UInt8]) -> Body { Body(chunks: [bytes]) }

        /// A body of this text as UTF-8, in one chunk.
        public static func string(_ text: String) -> Body { .bytes(Array(text.utf8)) }

        /// A body of these chunks, without a Content-Length.
        ///
        /// - Parameters:
        ///   - chunks: The chunks; empty chunks are omitted.
        ///   - pause: A wait before each chunk, on the transport's clock.
        public static func chunks(_ chunks: [[UInt8]], every pause: Duration? = nil) -> Body {
            Body(chunks: chunks, isLengthKnown: false, pause: pause)
        }

        /// A body of these chunks of text; see ``chunks(_:every:)-([[UInt8]],_)``.
        public static func chunks(_ chunks: [String], every pause: Duration? = nil) -> Body {
            .chunks(chunks.map { Array($0.utf8) }, every: pause)
        }

        /// The same body, but it breaks off after some chunks, or at its end if it has fewer.
        ///
        /// - Parameters:
        ///   - count: The number of chunks before the error.
        ///   - code: The code of the reader's error. The error has the stage `receiving` and the response's head.
        public func breaking(after count: Int, with code: ErrorCode = .connectionLost) -> Body {
            var body = self
            body.breakage = (max(0, count), code)
            return body
        }

        var length: Int64? {
            self.isLengthKnown ? Int64(self.chunks.reduce(0) { $0 + $1.count }) : nil
        }
    }
}

extension StubAnswer.Body: ExpressibleByStringInterpolation {
    /// Makes a body of this text as UTF-8.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}
#endif
