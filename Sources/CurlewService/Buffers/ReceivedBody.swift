#if Service
internal import Curlew
internal import NIOCore

/// A body that a server receives in buffers, while it is sent on. It is read by one task at a time.
actor ReceivedBody<Buffers: AsyncSequence & Sendable>: RelayedBody where Buffers.Element == ByteBuffer {
    nonisolated let endsWithTransfer: Bool
    private var buffers: Buffers.AsyncIterator
    /// A buffer that was read, and not sent yet.
    private var first: ByteBuffer?
    private var isReading = false
    private var hasEnded = false
    /// True if nobody has read of it, or all of it was read.
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

    /// True if the body has no bytes. It waits for the first of them.
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

    /// Reads no more of the body. After this returns nobody does: a read that was under way has ended.
    func close() async {
        isClosed = true
        guard isReading else { return }
        await withUnsafeContinuation { waiters.append($0) }
    }
}

/// A chunk of a body in a buffer.
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
