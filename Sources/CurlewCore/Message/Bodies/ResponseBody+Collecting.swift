extension CurlewResponse.Body {
    /// Reads the complete body into memory.
    /// - Parameter limit: The most bytes to collect. A larger body is an error, before any reading if its length is
    ///   known.
    /// - Throws: ``CurlewError`` with ``ErrorCode/responseTooLarge``, or the error that broke the body off.
    public func collect(upTo limit: ByteSize) async throws -> [UInt8] {
        if let length, length > limit.bytes { throw Self.tooLarge(limit) }
        var collected: [UInt8] = []
        var iterator = makeAsyncIterator()
        while let chunk = try await iterator.next() {
            guard collected.count + chunk.count <= limit.bytes else { throw Self.tooLarge(limit) }
            if collected.isEmpty, length == nil || Int64(chunk.count) == length {
                collected = chunk
                continue
            }
            if collected.isEmpty, let length {
                collected.reserveCapacity(Int(Swift.min(length, Self.reservedSize)))
            }
            collected.append(contentsOf: chunk)
        }
        return collected
    }

    /// The most memory that is reserved for a declared length. Bytes that have arrived extend it.
    private static let reservedSize: Int64 = 1 << 20

    static func tooLarge(_ limit: ByteSize) -> CurlewError {
        CurlewError(.responseTooLarge, "the body is larger than \(limit)")
    }

    /// Reads the body up to a limit or a failure.
    /// - Returns: The bytes, and the error that kept them from being the complete body.
    func gather(upTo limit: ByteSize) async -> (bytes: [UInt8], breakage: (any Error)?) {
        // Only the beginning of a body that is too large is used, in the error.
        let isTooLarge = length.map { $0 > limit.bytes } ?? false
        let wanted = isTooLarge ? Swift.min(CurlewError.bodyPrefixLimit, limit.bytes) : limit.bytes
        var bytes: [UInt8] = []
        var iterator = makeAsyncIterator()
        do {
            while let chunk = try await iterator.next() {
                let room = wanted - bytes.count
                bytes += chunk.prefix(room)
                if chunk.count > room || isTooLarge && chunk.count == room { return (bytes, Self.tooLarge(limit)) }
            }
            return (bytes, nil)
        } catch {
            return (bytes, error)
        }
    }

    /// The bytes of the body, each by itself.
    public var bytes: CurlewResponse.Body.Bytes { CurlewResponse.Body.Bytes(body: self) }

    /// The lines of the body, without line ends (LF or CRLF). Invalid UTF-8 is repaired. Text after the last line end
    /// is a line too, unless it is empty.
    /// - Parameter limit: The longest line in bytes; a longer line fails with ``ErrorCode/responseTooLarge``.
    public func lines(upTo limit: ByteSize = .mebibytes(1)) -> CurlewResponse.Body.Lines {
        CurlewResponse.Body.Lines(body: self, limit: limit.bytes)
    }
}

extension CurlewResponse.Body {
    /// The bytes of a response's body, each by itself.
    public struct Bytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        let body: CurlewResponse.Body

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator()) }

        public struct AsyncIterator: AsyncIteratorProtocol {
            var chunks: CurlewResponse.Body.AsyncIterator
            private var chunk: [UInt8] = []
            private var position = 0

            init(chunks: CurlewResponse.Body.AsyncIterator) { self.chunks = chunks }

            public mutating func next() async throws -> UInt8? {
                if position == chunk.count {
                    guard let more = try await chunks.next() else { return nil }
                    chunk = more
                    position = 0
                }
                defer { position += 1 }
                return chunk[position]
            }
        }
    }
}

extension CurlewResponse.Body {
    /// The lines of a response's body.
    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String

        let body: CurlewResponse.Body
        let limit: Int

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(chunks: body.makeAsyncIterator(), limit: limit)
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var chunks: CurlewResponse.Body.AsyncIterator
            private let limit: Int
            private var buffer: [UInt8] = []
            private var start = 0
            private var searched = 0
            private var isAtEnd = false

            init(chunks: CurlewResponse.Body.AsyncIterator, limit: Int) {
                self.chunks = chunks
                self.limit = limit
            }

            public mutating func next() async throws -> String? {
                while true {
                    if let end = buffer[searched...].firstIndex(of: .lineFeed) {
                        try check(end - start)
                        defer {
                            start = end + 1
                            searched = start
                        }
                        return line(to: end)
                    }
                    searched = buffer.count
                    try check(buffer.count - start)
                    if isAtEnd {
                        guard start < buffer.count else { return nil }
                        defer { start = buffer.count }
                        return line(to: buffer.count)
                    }
                    guard let chunk = try await chunks.next() else {
                        isAtEnd = true
                        continue
                    }
                    buffer.removeFirst(start)
                    searched -= start
                    start = 0
                    buffer.append(contentsOf: chunk)
                }
            }

            private func line(to end: Int) -> String {
                let hasReturn = end > start && buffer[end - 1] == .carriageReturn
                return String(decoding: buffer[start..<(hasReturn ? end - 1 : end)], as: UTF8.self)
            }

            private func check(_ length: Int) throws {
                guard length <= limit else {
                    throw CurlewError(.responseTooLarge, "a line is longer than \(limit) bytes")
                }
            }
        }
    }
}
