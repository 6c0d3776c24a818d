#if Service
internal import Curlew
internal import NIOCore

/// A body that a server receives in buffers and that is forwarded meanwhile. Only one task may read at a time.
actor ReceivedBody<Buffers: AsyncSequence & Sendable>: RelayedBody where Buffers.Element == ByteBuffer {
    nonisolated let endsWithTransfer: Bool
    private var buffers: Buffers.AsyncIterator
    /// A buffer that was read but not sent yet.
    private var first: ByteBuffer?
    private var isReading = false
    private var hasEnded = false
    /// True if the body was not read at all, or read to its end.
    var isIdle: Bool { hasEnded || !isBegun }
    private var isBegun = false
    private var isClosed = false
    private var waiters: [UnsafeContinuation<Void, Never>] = []

    init(_ buffers: Buffers, endsWithTransfer: Bool) {
        self.buffers = buffers.makeAsyncIterator()
        self.endsWithTransfer = endsWithTransfer
    }

    func next() async throws -> (any BodyChunk)? {
        guard !isClosed else { throw CancellationError() }
        if let first {
            self.first = nil
            return BufferChunk(buffer: first)
        }
        return try await read().map { BufferChunk(buffer: $0) }
    }

    /// True if the body has no bytes; waits for the first byte.
    func isEmpty() async throws -> Bool {
        while first == nil {
            guard let buffer = try await read() else { return true }
            if buffer.readableBytes > 0 { first = buffer }
        }
        return false
    }

    private func read() async throws -> ByteBuffer? {
        isReading = true
        isBegun = true
        defer {
            isReading = false
            for waiter in waiters { waiter.resume() }
            waiters = []
        }
        var buffers = buffers
        defer { self.buffers = buffers }
        let buffer = try await buffers.next(isolation: self)
        if buffer == nil { hasEnded = true }
        return buffer
    }

    /// Stops reading. When this function returns, no read is in progress and no later read begins.
    func close() async {
        isClosed = true
        guard isReading else { return }
        await withUnsafeContinuation { waiters.append($0) }
    }
}

/// A chunk of a body, backed by a buffer.
private struct BufferChunk: BodyChunk {
    let buffer: ByteBuffer

    var count: Int { buffer.readableBytes }

    func copy(from offset: Int, into space: UnsafeMutableRawBufferPointer) {
        buffer.withUnsafeReadableBytes {
            space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + space.count)]))
        }
    }
}
#endif
