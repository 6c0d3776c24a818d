/// The bytes of a form: heads, bodies and what stands between them.
struct FormChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let form: MultipartFormData

    /// What is small is gathered up to so many bytes.
    static let gathered = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(form: form) }

    struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case unopened
            /// Before the part of this place.
            case between(Int)
            /// In the body of the part of this place. A stream of the caller's may take its time.
            case inside(Int, any AsyncIteratorProtocol<[UInt8], any Error>, mayWait: Bool)
            case ended
        }

        private let form: MultipartFormData
        private var state = State.unopened
        /// Small pieces that go out together.
        private var pending: [UInt8] = []
        /// A large piece behind them.
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
                    // What came before does not wait with it.
                    if mayWait, !pending.isEmpty { return takePending() }
                    try await read(place, from: stream, isolation: actor, mayWait: mayWait)
                case .ended:
                    return pending.isEmpty ? nil : takePending()
                }
                if large != nil, !pending.isEmpty { return takePending() }
            }
        }

        /// Writes a part's head, and its body if it is there already.
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

        /// An error leaves nothing to continue with.
        private mutating func failure(_ error: any Error, at place: Int) -> CurlewError {
            pending = []
            return form.parts[place].error(error, at: place)
        }

        /// Small bytes are copied to those that wait, large ones go out as they are.
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
