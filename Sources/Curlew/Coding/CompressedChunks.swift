/// The bytes of a body, compressed as they are read. It holds one chunk of the body and one piece of output.
struct CompressedChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let body: RequestBody
    let format: RequestCompression.Format
    let level: Int

    /// The size of a piece at most.
    static let partSize = 64 << 10

    func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let sequence: CompressedChunks
        private var state = State.unopened

        private enum State {
            case unopened
            case open(Run)
            case ended
        }

        /// What is needed between the first piece and the last.
        private struct Run {
            var base: any AsyncIteratorProtocol<[UInt8], any Error>
            let deflater: Deflater
            var input: ArraySlice<UInt8> = []
            var isLast = false
        }

        fileprivate init(sequence: CompressedChunks) { self.sequence = sequence }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            var run: Run
            switch state {
            case .ended: return nil
            case .open(let open): run = open
            case .unopened:
                let stream = try await sequence.body.stream()
                run = Run(
                    base: stream.makeAsyncIterator(),
                    deflater: try Deflater(format: sequence.format, level: sequence.level))
            }
            // An error leaves nothing to go on with.
            state = .ended
            while true {
                if run.input.isEmpty, !run.isLast {
                    if let chunk = try await run.base.next(isolation: actor) {
                        run.input = chunk[...]
                    } else {
                        run.isLast = true
                    }
                }
                let (part, isAtEnd) = try run.deflater.compress(
                    &run.input, isLast: run.isLast, upTo: CompressedChunks.partSize)
                if !part.isEmpty {
                    if !isAtEnd { state = .open(run) }
                    return part
                }
                if isAtEnd { return nil }
            }
        }
    }
}
