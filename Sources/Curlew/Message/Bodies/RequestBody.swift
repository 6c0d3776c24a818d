extension CurlewRequest {
    /// The body of a request: where its bytes come from, how many there are, and whether they can be read again.
    public struct Body: Sendable {
        /// Chunks of a streamed body, as the transport pulls them.
        public typealias Stream = any AsyncSequence<[UInt8], any Error> & Sendable

        enum Source: Sendable {
            case none
            case bytes([UInt8])
            case file(path: String, offset: Int64, length: Int64?)
            /// A file that was looked at when the call began, and must stay what it was for every sending.
            indirect case watched(WatchedFile)
            case factory(@Sendable () async throws -> Stream)
            case once(OneShot)
            case relayed(any RelayedBody)
        }

        let source: Source

        /// The number of bytes, if it is known before sending. It becomes Content-Length; without it the body goes out
        /// chunked over HTTP/1.1. A file's length is taken when the request starts.
        public let length: Int64?

        /// True if the body can be sent a second time: after a redirect, a retry or an authentication challenge.
        public var isReplayable: Bool {
            switch source {
            case .once, .relayed: false
            default: true
            }
        }

        /// True if there is no body at all, as opposed to an empty one.
        public var isNone: Bool {
            if case .none = source { true } else { false }
        }

        /// True if it is a file, or a range of one.
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

        /// A file, or `length` bytes of it from `offset` on. It is opened anew for each sending, and read off the event loop.
        ///
        /// It is looked at when a call begins, and must be the same for every sending of that call, redirects and retries
        /// included. Without a length nothing of it may change: one that grows, shrinks, is modified or replaced is
        /// ``ErrorCode/bodyLengthMismatch``, at the latest before its last bytes go out, and one that has vanished
        /// ``ErrorCode/bodyFailed``. Of a file that so many bytes are sent of, the file must stay in its place and reach as far
        /// as they do; it may grow.
        public static func file(_ path: String, offset: Int64 = 0, length: Int64? = nil) -> CurlewRequest.Body {
            CurlewRequest.Body(source: .file(path: path, offset: max(0, offset), length: length), length: length)
        }

        /// A stream made anew by `make` for each sending, so that it can be replayed.
        /// - Parameters:
        ///   - length: The number of bytes that every stream will yield; nil sends the body chunked.
        ///   - make: Makes a stream, each time from the body's first byte on.
        public static func stream<S: AsyncSequence & Sendable>(
            length: Int64? = nil,
            _ make: @escaping @Sendable () async throws -> S
        ) -> CurlewRequest.Body where S.Element == [UInt8] {
            CurlewRequest.Body(source: .factory { FailableSequence(base: try await make()) }, length: length)
        }

        /// A stream that cannot be replayed. Sending it a second time is ``ErrorCode/bodyNotReplayable``.
        /// - Parameters:
        ///   - length: The number of bytes that it will yield; nil sends the body chunked.
        ///   - stream: The chunks.
        public static func once<S: AsyncSequence & Sendable>(
            length: Int64? = nil,
            _ stream: S
        ) -> CurlewRequest.Body where S.Element == [UInt8] {
            CurlewRequest.Body(source: .once(OneShot(FailableSequence(base: stream))), length: length)
        }
    }
}

/// A sequence that may throw any error, over one whose errors are of another type or which has none.
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

/// A stream that is handed out once.
actor OneShot {
    private var stream: CurlewRequest.Body.Stream?

    init(_ stream: CurlewRequest.Body.Stream) { self.stream = stream }

    /// The stream, the first time; nil afterwards.
    func take() -> CurlewRequest.Body.Stream? {
        defer { stream = nil }
        return stream
    }
}
