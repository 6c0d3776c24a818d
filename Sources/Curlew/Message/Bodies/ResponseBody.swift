public import HTTPTypes

extension CurlewResponse {
    /// The body of a response: chunks, as they arrive, to be read once.
    ///
    /// The transfer pauses while the reader is behind (``SessionConfiguration/bodyBufferSize``). Dropping a body that was not
    /// read to its end cancels the transfer and frees its connection. Cancelling the reading task does the same.
    ///
    /// ```swift
    /// for try await chunk in response.body { file.write(chunk) }
    /// ```
    public struct Body: AsyncSequence, Sendable {
        public typealias Element = [UInt8]

        /// From how many bytes on the memory of a chunk is worth being filled again.
        static let smallestRecycled = 64 << 10

        enum Storage: Sendable {
            case bytes([UInt8])
            case source(any BodySource)
            case stream(any AsyncSequence<[UInt8], any Error> & Sendable)
        }

        /// The transfer beneath a stream that was made of its body: it has the trailers.
        private var origin: (any BodySource)?

        let storage: Storage
        /// The number of bytes that the body will have, if the response has it.
        public let length: Int64?

        /// A body that is there already.
        public static func bytes(_ bytes: [UInt8]) -> CurlewResponse.Body {
            CurlewResponse.Body(storage: .bytes(bytes), length: Int64(bytes.count))
        }

        /// A body made by a link from another one, or from anything else.
        public static func stream<S: AsyncSequence & Sendable>(_ stream: S, length: Int64? = nil) -> CurlewResponse.Body
        where S.Element == [UInt8] {
            CurlewResponse.Body(storage: .stream(FailableSequence(base: stream)), length: length)
        }

        /// A body made by a link from another one, or from anything else.
        public static func stream<S: AsyncSequence & Sendable>(_ stream: S, length: Int64? = nil) -> CurlewResponse.Body
        where S.Element == [UInt8], S.Failure == any Error {
            CurlewResponse.Body(storage: .stream(stream), length: length)
        }

        /// A body made of the bytes of another one, whose trailers it keeps.
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

        /// Ends the transfer beneath, if there is one: nobody wants the rest, though somebody still holds the body.
        func abandon() { bodySource?.cancel() }

        /// The fields that came after the body. Empty until the body was read to its end.
        public var trailers: HTTPFields { bodySource?.trailers ?? HTTPFields() }

        public func makeAsyncIterator() -> AsyncIterator {
            switch storage {
            case .bytes(let bytes): AsyncIterator(source: .bytes(bytes), lent: [])
            case .source(let source): AsyncIterator(source: .source(source), lent: [])
            case .stream(let stream): AsyncIterator(source: .stream(stream.makeAsyncIterator()), lent: [])
            }
        }

        /// Yields the chunks.
        public struct AsyncIterator: AsyncIteratorProtocol {
            enum Source {
                case bytes([UInt8])
                case source(any BodySource)
                case stream(any AsyncIteratorProtocol<[UInt8], any Error>)
                case end
            }

            var source: Source
            /// True if whoever gets the chunks gives their memory back in its own time.
            fileprivate var isMemoryTaken = false
            /// The chunk that was yielded last, if it is large. A caller who asks for the next chunk has usually
            /// released this one; its memory is then filled again.
            fileprivate var lent: [UInt8]

            /// Makes the memory of the chunks the caller's to give back, when it is done with one after the next was asked for.
            /// - Returns: What takes it back; nil if nobody wants it.
            mutating func takeOverMemory() -> (@Sendable (inout [UInt8]) -> Void)? {
                guard case .source(let source) = source else { return nil }
                isMemoryTaken = true
                return { chunk in
                    if chunk.capacity >= CurlewResponse.Body.smallestRecycled { source.recycle(&chunk) }
                }
            }

            /// The next chunk, never an empty one; nil at the end.
            /// - Throws: ``CurlewError`` if the body broke off; what came before it was yielded.
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
