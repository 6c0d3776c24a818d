#if Storage
internal import CLinux
internal import Curlew
internal import Dispatch
internal import CurlewPlatform

/// The open file of an entry's body; it stays readable even if the entry is removed.
final class OpenBody: Sendable {
    /// The number of bytes for each read, and the size of the largest body that is returned in one piece: 256 KiB.
    static let chunkSize = 256 << 10

    private let descriptor: Int32
    private let queue: DispatchQueue

    /// Takes ownership of a descriptor.
    init(_ descriptor: Int32, queue: DispatchQueue) {
        self.descriptor = descriptor
        self.queue = queue
    }

    deinit { close(descriptor) }

    /// Reads a range from memory; nil unless the kernel has cached all of it.
    ///
    /// The read never waits for the disk (`RWF_NOWAIT`), so it may run on any thread.
    func readCached(_ range: Range<Int64>) -> [UInt8]? {
        let count = Int(range.upperBound - range.lowerBound)
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            filled = max(0, curlew_read_cached(descriptor, space.baseAddress, count, range.lowerBound))
        }
        return bytes.count == count ? bytes : nil
    }

    /// Reads a range, on a queue unless it is cached.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/cacheFailed``, also if the file is too short.
    func read(_ range: Range<Int64>) async throws -> [UInt8] {
        if let bytes = readCached(range) { return bytes }
        return try await queue.perform { try self.readWaiting(range) }
    }

    /// Compares the body with its checksum.
    func verify(size: Int64, checksum: UInt32) async throws -> Bool {
        try await queue.perform {
            var found: UInt32 = 0
            var position: Int64 = 0
            while position < size {
                let end = min(position + Int64(Self.chunkSize), size)
                found = Checksum.crc32(try self.readWaiting(position..<end), after: found)
                position = end
            }
            return found == checksum
        }
    }

    private func readWaiting(_ range: Range<Int64>) throws -> [UInt8] {
        let count = Int(range.upperBound - range.lowerBound)
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { space, filled in
            while filled < count {
                let read = pread(
                    descriptor, space.baseAddress! + filled, count - filled, off_t(range.lowerBound) + off_t(filled))
                if read < 0, errno == EINTR { continue }
                if read < 0 { failure = errno }
                guard read > 0 else { return }
                filled += read
            }
        }
        guard failure == 0 else {
            throw CurlewError(cacheFailure: "a body of the cache cannot be read", errorNumber: failure)
        }
        guard bytes.count == count else {
            throw CurlewError(.cacheFailed, "a body of the cache became shorter while it was read")
        }
        return bytes
    }
}

/// The chunks of a body, read on demand.
struct BodyChunks: AsyncSequence, Sendable {
    let body: OpenBody
    let range: Range<Int64>

    struct Iterator: AsyncIteratorProtocol {
        /// The open file; nil at the end, so that it is closed then.
        private var body: OpenBody?
        private var rest: Range<Int64>

        fileprivate init(body: OpenBody, rest: Range<Int64>) {
            self.body = body
            self.rest = rest
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            guard let body, !rest.isEmpty else {
                self.body = nil
                return nil
            }
            try Task.checkCancellation()
            let end = Swift.min(rest.lowerBound + Int64(OpenBody.chunkSize), rest.upperBound)
            let chunk = try await body.read(rest.lowerBound..<end)
            rest = end..<rest.upperBound
            if rest.isEmpty { self.body = nil }
            return chunk
        }

        mutating func next() async throws -> [UInt8]? { try await next(isolation: #isolation) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: body, rest: range) }
}
#endif
