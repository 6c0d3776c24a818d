/// The bytes of a form: heads, bodies and delimiters.
struct FormChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let form: MultipartFormData

    /// The size up to which small pieces are combined.
    static let gathered = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(form: form) }

    struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case unopened
            /// Before the part with this index.
            case between(Int)
            /// In the body of the part with this index. A stream of the caller may be slow.
            case inside(Int, any AsyncIteratorProtocol<[UInt8], any Error>, mayWait: Bool)
            case ended
        }

        private let form: MultipartFormData
        private var state = State.unopened
        /// The small pieces that are sent together.
        private var pending: [UInt8] = []
        /// A large piece that follows them.
        private var large: [UInt8]?
        private var watch: BoundaryWatch?

        init(form: MultipartFormData) {
            self.form = form
            watch = form.delimiter.isChosen ? BoundaryWatch(form.delimiter) : nil
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            while true {
                if let chunk = large {
                    large = nil
                    return chunk
                }
                switch state {
                case .unopened:
                    state = .ended
                    try await form.verifyFilesApart()
                    state = .between(0)
                case .between(let place):
                    if place < form.parts.count { try await begin(place) } else { end() }
                    if pending.count > FormChunks.gathered { return takePending() }
                case .inside(let place, let stream, let mayWait):
                    // Earlier bytes are sent without waiting for the stream.
                    if mayWait, !pending.isEmpty { return takePending() }
                    try await read(place, from: stream, isolation: actor, mayWait: mayWait)
                case .ended:
                    return pending.isEmpty ? nil : takePending()
                }
                if large != nil, !pending.isEmpty { return takePending() }
            }
        }

        /// Writes the head of a part, and its body if it is in memory.
        private mutating func begin(_ place: Int) async throws {
            let part = form.parts[place]
            pending += form.delimiter.opening(isFirst: place == 0) + part.head
            watch?.begin()
            state = .ended
            do {
                if case .bytes(let bytes) = part.content {
                    try add(bytes)
                    state = .between(place + 1)
                    return
                }
                let stream = try await part.chunks().makeAsyncIterator()
                if case .stream = part.content {
                    state = .inside(place, stream, mayWait: true)
                } else {
                    state = .inside(place, stream, mayWait: false)
                }
            } catch { throw failure(error, at: place) }
        }

        private mutating func read(
            _ place: Int, from stream: any AsyncIteratorProtocol<[UInt8], any Error>,
            isolation actor: isolated (any Actor)?, mayWait: Bool
        ) async throws {
            var stream = stream
            state = .ended
            do {
                if let chunk = try await stream.next(isolation: actor) {
                    try add(chunk)
                    state = .inside(place, stream, mayWait: mayWait)
                } else {
                    state = .between(place + 1)
                }
            } catch { throw failure(error, at: place) }
        }

        /// Ends the sequence with an error.
        private mutating func failure(_ error: any Error, at place: Int) -> CurlewError {
            pending = []
            return form.parts[place].error(error, at: place)
        }

        /// Adds bytes: small pieces are copied to the pending ones, large ones are sent unchanged.
        private mutating func add(_ bytes: [UInt8]) throws {
            try watch?.pass(bytes)
            if pending.count + bytes.count <= FormChunks.gathered { pending += bytes } else { large = bytes }
        }

        private mutating func end() {
            state = .ended
            pending += form.delimiter.closing(isFirst: form.parts.isEmpty)
        }

        private mutating func takePending() -> [UInt8] {
            defer { pending = [] }
            return pending
        }
    }
}
