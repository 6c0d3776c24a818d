import Curlew

/// A body without waits, of 1 KiB per chunk and 1 MiB in total, whose reader is cancelled at the third chunk.
struct CancellingBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    /// Called for each chunk.
    let onChunk: @Sendable () -> Void

    struct Iterator: AsyncIteratorProtocol {
        let onChunk: @Sendable () -> Void
        var count = 0

        mutating func next() async throws -> [UInt8]? {
            guard count < 1024 else { return nil }
            count += 1
            onChunk()
            if count == 3 { withUnsafeCurrentTask { $0?.cancel() } }
            return [UInt8](repeating: 7, count: 1024)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(onChunk: onChunk) }
}
