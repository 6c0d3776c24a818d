public import HTTPTypes

extension CurlewResponse {
    /// The body of a response: chunks in the order of their arrival, which can be read once.
    ///
    /// The transfer pauses while the reader is behind (``SessionConfiguration/bodyBufferSize``). Releasing a body
    /// before its end was read cancels the transfer and frees its connection. Cancelling the reading task does the
    /// same.
    ///
    /// ```swift
    /// for try await chunk in response.body { file.write(chunk) }
    /// ```
    public struct Body: AsyncSequence, Sendable {
        public typealias Element = [UInt8]

        /// The smallest capacity of a chunk whose memory is worth reusing.
        static let smallestRecycled = 64 << 10

        enum Storage: Sendable {
            case bytes([UInt8])
            case source(any BodySource)
            case stream(any AsyncSequence<[UInt8], any Error> & Sendable)
        }

        /// The source of the trailers for a stream that was made from another body.
        private var origin: (any BodySource)?

        let storage: Storage
        /// The number of bytes of the body, if the response declares it.
        public let length: Int64?

        /// A body in memory.
        public static func bytes(_ bytes: [UInt8]) -> CurlewResponse.Body {
            CurlewResponse.Body(storage: .bytes(bytes), length: Int64(bytes.count))
        }

        /// A body that a link makes from another body or from any other source.
        public static func stream<S: AsyncSequence & Sendable>(_ stream: S, length: Int64? = nil) -> CurlewResponse.Body
        where S.Element == [UInt8] {
            CurlewResponse.Body(storage: .stream(FailableSequence(base: stream)), length: length)
        }

        /// A body that a link makes from another body or from any other source.
        public static func stream<S: AsyncSequence & Sendable>(_ stream: S, length: Int64? = nil) -> CurlewResponse.Body
        where S.Element == [UInt8], S.Failure == any Error {
            CurlewResponse.Body(storage: .stream(stream), length: length)
        }

        /// A body made of the bytes of another body, whose trailers it keeps.
        package static func stream<S: AsyncSequence & Sendable>(
            _ stream: S, over body: CurlewResponse.Body, length: Int64? = nil
        ) -> CurlewResponse.Body
        where S.Element == [UInt8], S.Failure == any Error {
            var made = CurlewResponse.Body(storage: .stream(stream), length: length)
            made.origin = body.bodySource
            return made
        }

        init(storage: Storage, length: Int64?) {
            self.storage = storage
            self.length = length
        }

        private var bodySource: (any BodySource)? {
            if case .source(let source) = storage { source } else { origin }
        }

        /// Cancels the transfer of the body, if there is one, although the body is still referenced.
        package func abandon() { bodySource?.cancel() }

        /// The fields that followed the body. Empty until the end of the body was read.
        public var trailers: HTTPFields { bodySource?.trailers ?? HTTPFields() }

        public func makeAsyncIterator() -> AsyncIterator {
            switch storage {
            case .bytes(let bytes): AsyncIterator(source: .bytes(bytes), lent: [])
            case .source(let source): AsyncIterator(source: .source(source), lent: [])
            case .stream(let stream): AsyncIterator(source: .stream(stream.makeAsyncIterator()), lent: [])
            }
        }

        /// The iterator over the chunks.
        public struct AsyncIterator: AsyncIteratorProtocol {
            enum Source {
                case bytes([UInt8])
                case source(any BodySource)
                case stream(any AsyncIteratorProtocol<[UInt8], any Error>)
                case end
            }

            var source: Source
            /// True if the reader of the chunks returns their memory itself.
            fileprivate var isMemoryTaken = false
            /// The last yielded chunk, if it is large. A caller that asks for the next chunk has usually released this
            /// one, so its memory is reused.
            fileprivate var lent: [UInt8]

            /// Leaves the return of each chunk's memory to the caller, also after it has requested the next chunk.
            /// - Returns: A closure that takes the memory back; nil if memory is not reused.
            package mutating func takeOverMemory() -> (@Sendable (inout [UInt8]) -> Void)? {
                guard case .source(let source) = source else { return nil }
                isMemoryTaken = true
                return { chunk in
                    if chunk.capacity >= CurlewResponse.Body.smallestRecycled { source.recycle(&chunk) }
                }
            }

            /// The next chunk, never an empty one; nil at the end.
            /// - Throws: ``CurlewError`` if the body broke off; the bytes before the break were yielded.
            public mutating func next() async throws -> [UInt8]? {
                switch source {
                case .end: return nil
                case .bytes(let bytes):
                    source = .end
                    return bytes.isEmpty ? nil : bytes
                case .source(let body):
                    if lent.capacity > 0 { body.recycle(&lent) }
                    let chunk: [UInt8]?
                    do { chunk = try await body.next() } catch { throw CurlewError(wrapping: error) }
                    if chunk == nil { source = .end }
                    if !isMemoryTaken, let chunk, chunk.capacity >= CurlewResponse.Body.smallestRecycled {
                        lent = chunk
                    }
                    return chunk
                case .stream(var iterator):
                    do {
                        let chunk = try await iterator.next(isolation: #isolation)
                        source = chunk == nil ? .end : .stream(iterator)
                        return chunk
                    } catch {
                        throw CurlewError(wrapping: error)
                    }
                }
            }
        }
    }
}
