internal import Curlew

/// A body that keeps what was read of it, so that a broken one can be shown as far as it came.
struct RecordedChunks: AsyncSequence, Sendable {
    let record = Record()
    private let base: CurlewResponse.Body

    init(_ base: CurlewResponse.Body) { self.base = base }

    actor Record {
        private var chunks: [[UInt8]] = []

        var bytes: [UInt8] { chunks.reduce(into: []) { $0 += $1 } }

        fileprivate func append(_ chunk: [UInt8]) { chunks.append(chunk) }
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: CurlewResponse.Body.AsyncIterator
        fileprivate let record: Record

        mutating func next() async throws -> [UInt8]? {
            guard let chunk = try await base.next() else { return nil }
            await record.append(chunk)
            return chunk
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), record: record) }
}
