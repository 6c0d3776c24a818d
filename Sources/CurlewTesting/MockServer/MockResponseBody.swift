#if TestKit
internal import NIOCore

extension MockResponse {
    /// The body of a response.
    public struct Body: Sendable {
        enum Source: Sendable {
            case none
            case bytes([UInt8])
            case pattern(count: Int)
            case stream(length: Int?, @Sendable (ResponseBodyWriter) async throws -> Void)
        }

        let source: Source

        /// No body.
        public static let none = Body(source: .none)

        /// A body of these bytes.
        public static func bytes(_ bytes: [UInt8]) -> Body { Body(source: .bytes(bytes)) }

        /// A body of this text as UTF-8.
        public static func string(_ text: String) -> Body { Body(source: .bytes(Array(text.utf8))) }

        /// A body of the first `count` bytes of ``BytePattern``, made as they are sent.
        public static func pattern(count: Int) -> Body { Body(source: .pattern(count: count)) }

        /// A body of the bytes that `write` writes while it runs. Each write is sent at once and suspends while the
        /// client is slower.
        ///
        /// The length is sent to the client if it is known. A body that is cut short, by a thrown error or by too few
        /// bytes, closes the connection, or resets the stream in HTTP/2.
        public static func stream(
            length: Int? = nil,
            _ write: @escaping @Sendable (ResponseBodyWriter) async throws -> Void
        ) -> Body {
            Body(source: .stream(length: length, write))
        }

        /// A body of the chunks of a sequence; each chunk is sent as it arrives.
        public static func stream<Chunks: AsyncSequence & Sendable>(
            length: Int? = nil,
            _ chunks: Chunks
        ) -> Body where Chunks.Element == [UInt8] {
            .stream(length: length) { writer in
                for try await chunk in chunks { try await writer.write(chunk) }
            }
        }

        /// A body that echoes a request's body as it arrives.
        public static func stream(length: Int? = nil, _ body: InboundRequestBody) -> Body {
            .stream(length: length) { writer in
                while let buffer = try await body.reader.next() { try await writer.send(buffer) }
            }
        }

        var length: Int? {
            switch self.source {
            case .none: 0
            case .bytes(let bytes): bytes.count
            case .pattern(let count): count
            case .stream(let length, _): length
            }
        }
    }
}

extension MockResponse.Body: ExpressibleByStringInterpolation {
    /// Makes a body of this text as UTF-8.
    public init(stringLiteral value: String) {
        self = .string(value)
    }
}

/// A writer for the chunks of a streamed response.
public struct ResponseBodyWriter: Sendable {
    let send: @Sendable (ByteBuffer) async throws -> Void

    /// Sends a chunk; suspends while the client is slower.
    public func write(_ bytes: [UInt8]) async throws {
        guard !bytes.isEmpty else { return }
        try await self.send(ByteBuffer(bytes: bytes))
    }

    /// Sends text as UTF-8.
    public func write(_ text: String) async throws {
        try await self.write(Array(text.utf8))
    }
}
#endif
