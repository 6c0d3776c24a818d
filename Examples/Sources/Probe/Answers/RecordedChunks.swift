internal import Curlew

/// A body that records its chunks, so that its received part can be shown after any reader.
struct RecordedChunks: AsyncSequence, Sendable {
    let record = Record()
    private let base: CurlewResponse.Body

    init(_ base: CurlewResponse.Body) { self.base = base }

    actor Record {
        private var chunks: [[UInt8]] = []
        /// True if the body was read to its end.
        private(set) var isWhole = false
        /// The error that ended the body.
        private(set) var failure: (any Error)?

        var bytes: [UInt8] { chunks.reduce(into: []) { $0 += $1 } }

        /// Records the result of a read.
        fileprivate func note(_ result: Result<[UInt8]?, any Error>) {
            switch result {
            case .success(let chunk?): chunks.append(chunk)
            case .success(nil): isWhole = true
            case .failure(let error): failure = error
            }
        }
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: CurlewResponse.Body.AsyncIterator
        fileprivate let record: Record

        mutating func next() async throws -> [UInt8]? {
            do {
                let chunk = try await base.next()
                await record.note(.success(chunk))
                return chunk
            } catch {
                await record.note(.failure(error))
                throw error
            }
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), record: record) }
}
