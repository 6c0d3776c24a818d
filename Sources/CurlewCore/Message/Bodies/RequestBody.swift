extension CurlewRequest {
    /// The body of a request: the source of its bytes, their number, and the ability to be sent again.
    public struct Body: Sendable {
        /// The chunks of a streamed body. The transport pulls them.
        public typealias Stream = any AsyncSequence<[UInt8], any Error> & Sendable

        enum Source: Sendable {
            case none
            case bytes([UInt8])
            case file(path: String, offset: Int64, length: Int64?)
            /// A file whose state was recorded when the call began. Every sending requires the same state.
            indirect case watched(WatchedFile)
            case factory(@Sendable () async throws -> Stream)
            case once(OneShot)
            case relayed(any RelayedBody)
        }

        let source: Source

        /// The number of bytes, if it is known before sending. It becomes Content-Length. A body without a length is
        /// sent chunked over HTTP/1.1. The length of a file is read when the request starts.
        public let length: Int64?

        /// True if the body can be sent a second time: after a redirect, a retry or an authentication challenge.
        public var isReplayable: Bool {
            switch source {
            case .once, .relayed: false
            default: true
            }
        }

        /// True if there is no body, as opposed to an empty one.
        public var isNone: Bool {
            if case .none = source { true } else { false }
        }

        /// A range of a file whose state was recorded.
        package static func watched(_ file: WatchedFile) -> CurlewRequest.Body {
            CurlewRequest.Body(source: .watched(file), length: file.length)
        }

        /// The bytes of a body in memory; nil for another body.
        package var bytesInMemory: [UInt8]? {
            switch source {
            case .none: []
            case .bytes(let bytes): bytes
            default: nil
            }
        }

        /// True if the body is a file, or a range of a file.
        var isFile: Bool {
            if case .file = source { true } else { false }
        }

        /// No body.
        public static let none = CurlewRequest.Body(source: .none, length: 0)

        /// Bytes in memory.
        public static func bytes(_ bytes: [UInt8]) -> CurlewRequest.Body {
            CurlewRequest.Body(source: .bytes(bytes), length: Int64(bytes.count))
        }

        /// The UTF-8 bytes of a string.
        public static func string(_ string: String) -> CurlewRequest.Body { .bytes(Array(string.utf8)) }

        /// A file, or `length` bytes of it from `offset` on. Each sending opens the file again and reads it off the
        /// event loop.
        ///
        /// The state of the file is recorded when a call begins. It must be the same for every sending of that call,
        /// redirects and retries included.
        /// - Without a length, the file must not change. A file that grows, shrinks, is modified or is replaced fails
        ///   with ``ErrorCode/bodyLengthMismatch``, at the latest before its last bytes are sent.
        /// - With a length, the file must stay in its place and contain the range to be sent; it may grow.
        /// - A file that has been deleted fails with ``ErrorCode/bodyFailed``.
        public static func file(_ path: String, offset: Int64 = 0, length: Int64? = nil) -> CurlewRequest.Body {
            CurlewRequest.Body(source: .file(path: path, offset: max(0, offset), length: length), length: length)
        }

        /// A stream that `make` creates for each sending, so the body can be replayed.
        /// - Parameters:
        ///   - length: The number of bytes that every stream will yield; nil sends the body chunked.
        ///   - make: Makes a stream that begins with the body's first byte.
        public static func stream<S: AsyncSequence & Sendable>(
            length: Int64? = nil,
            _ make: @escaping @Sendable () async throws -> S
        ) -> CurlewRequest.Body where S.Element == [UInt8] {
            CurlewRequest.Body(source: .factory { FailableSequence(base: try await make()) }, length: length)
        }

        /// A stream that cannot be replayed. A second sending fails with ``ErrorCode/bodyNotReplayable``.
        /// - Parameters:
        ///  - length: The number of bytes that the stream will yield; nil sends the body chunked.
        ///   - stream: The chunks.
        public static func once<S: AsyncSequence & Sendable>(
            length: Int64? = nil,
            _ stream: S
        ) -> CurlewRequest.Body where S.Element == [UInt8] {
            CurlewRequest.Body(source: .once(OneShot(FailableSequence(base: stream))), length: length)
        }
    }
}

/// A sequence whose failure type is `any Error`, made from a sequence with another failure type.
package struct FailableSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element: Sendable {
    package typealias Element = Base.Element
    package typealias Failure = any Error

    let base: Base

    package init(base: Base) { self.base = base }

    package struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        package mutating func next(isolation actor: isolated (any Actor)?) async throws -> Base.Element? {
            try await base.next(isolation: actor)
        }

        package mutating func next() async throws -> Base.Element? { try await next(isolation: #isolation) }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }
}

/// A stream that can be taken once.
actor OneShot {
    private var stream: CurlewRequest.Body.Stream?

    init(_ stream: CurlewRequest.Body.Stream) { self.stream = stream }

    /// The stream at the first call; nil afterwards.
    func take() -> CurlewRequest.Body.Stream? {
        defer { stream = nil }
        return stream
    }
}
