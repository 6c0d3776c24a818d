/// Writes the body of an attempt to the channel that the loop reads. It does not run on the loop.
enum UploadPump {
    /// Runs until the body has ended or failed, or the channel is closed.
    /// - Parameter length: The declared length of the body.
    static func run(_ source: CurlewRequest.Body.Source, length: Int64?, into channel: some UploadSink) async {
        do {
            switch source {
            case .none, .bytes: break
            case .file(let path, let offset, let length):
                let file = try WatchedFile(path: path, offset: offset, length: length)
                try await pump(file, into: channel)
            case .watched(let file): try await pump(file, into: channel)
            case .factory(let make): try await pump(try await make(), length: length, into: channel)
            case .once(let oneShot):
                guard let stream = await oneShot.take() else {
                    throw CurlewError(.bodyNotReplayable, "the body was read before and cannot be read again")
                }
                try await pump(stream, length: length, into: channel)
            case .relayed(let body): try await pump(body, length: length, into: channel)
            }
            channel.finish(.success(()))
        } catch let error as CurlewError {
            channel.finish(.failure(error))
        } catch {
            channel.finish(.failure(CurlewError(.bodyFailed, "the request's body failed", underlying: error)))
        }
    }

    /// Passes the chunks on. The chunk that completes the declared length is held until the stream has ended, so that a
    /// stream that is too long fails before its first surplus byte.
    private static func pump(
        _ stream: CurlewRequest.Body.Stream, length: Int64?, into channel: some UploadSink
    ) async throws {
        try await pump(opened: stream, length: length, into: channel)
    }

    private static func pump<S: AsyncSequence>(
        opened stream: S, length: Int64?, into channel: some UploadSink
    ) async throws where S.Element == [UInt8] {
        var chunks = stream.makeAsyncIterator()
        try await pump(&chunks, length: length, into: channel)
    }

    /// Passes a file on. The sink itself reads cached parts of the file directly into libcurl's buffer. Uncached parts
    /// are read here. So is the last part, which waits for the final check that the file is unchanged.
    private static func pump(_ file: WatchedFile, into channel: some UploadSink) async throws {
        var chunks = WatchedFileChunks(file: file).makeAsyncIterator()
        let end = file.range.upperBound - Int64(CurlewRequest.Body.filePart)
        var isSupported = true
        var uncachedParts = firstUncachedParts
        while isSupported, chunks.position < end {
            let start = chunks.position
            guard let read = await channel.readDirectly(try await chunks.opened(), start..<end) else { return }
            chunks.position = read.position
            isSupported = read.outcome != .unsupported
            guard read.outcome == .notCached else { continue }
            // An uncached part is usually followed by more, and reading ahead then helps: the longer no part was
            // cached, the more parts are read here.
            uncachedParts = read.position == start ? uncachedParts * 2 : firstUncachedParts
            var count = 0
            while count < uncachedParts, chunks.position < end {
                guard let chunk = try await chunks.next(), await channel.write(chunk) else { return }
                count += 1
            }
        }
        try await pump(&chunks, length: file.range.upperBound - chunks.position, into: channel)
    }

    private static let firstUncachedParts = 16

    private static func pump<I: AsyncIteratorProtocol>(
        _ chunks: inout I, length: Int64?, into channel: some UploadSink
    ) async throws where I.Element == [UInt8] {
        var count = PromisedCount(length: length)
        var held: [UInt8]?
        while let chunk = try await chunks.next(isolation: #isolation) {
            if chunk.isEmpty { continue }
            if try count.completes(adding: chunk.count) {
                held = chunk
            } else if await !channel.write(chunk) {
                return
            }
        }
        if let held { _ = await channel.write(held) }
    }

    private static func pump(_ body: any RelayedBody, length: Int64?, into channel: some UploadSink) async throws {
        var count = PromisedCount(length: length)
        var held: (any BodyChunk)?
        while let chunk = try await body.next() {
            if chunk.count == 0 { continue }
            if try count.completes(adding: chunk.count) {
                held = chunk
            } else if await !channel.write(relayed: chunk) {
                return
            }
        }
        if let held { _ = await channel.write(relayed: held) }
    }

    /// The number of bytes of a body so far, compared with the declared length.
    private struct PromisedCount {
        let length: Int64?
        private var count: Int64 = 0

        init(length: Int64?) { self.length = length }

        /// True if these bytes complete the declared length.
        mutating func completes(adding bytes: Int) throws -> Bool {
            count += Int64(bytes)
            if let length, count > length {
                throw CurlewError(.bodyLengthMismatch, "the body has more than the \(length) bytes that it promised")
            }
            return count == length
        }
    }
}

/// The destination of an ``UploadPump``'s chunks.
protocol UploadSink: Sendable {
    /// Accepts a chunk when there is room; false if no more is wanted.
    func write(_ chunk: [UInt8]) async -> Bool
    /// Accepts a chunk in another library's memory, in the same way.
    func write(relayed chunk: any BodyChunk) async -> Bool
    /// Makes the sink read a range of a file itself, after the waiting chunks.
    /// - Returns: The end of the read; nil if no more is wanted.
    func readDirectly(_ file: any CachedFile, _ range: Range<Int64>) async -> DirectRead?
    /// Ends the body.
    func finish(_ result: Result<Void, CurlewError>)
}

extension UploadSink {
    func write(relayed chunk: any BodyChunk) async -> Bool { await write(chunk.array) }

    func readDirectly(_ file: any CachedFile, _ range: Range<Int64>) async -> DirectRead? {
        DirectRead(position: range.lowerBound, outcome: .unsupported)
    }
}

/// The end of an ``UploadSink``'s own read of a file.
struct DirectRead {
    enum Outcome {
        /// The complete range was read.
        case completed
        /// The next bytes are not cached, or missing.
        case notCached
        /// The sink cannot read the file, or the system cannot report which parts are cached.
        case unsupported
    }

    /// The file offset of the first unread byte.
    let position: Int64
    let outcome: Outcome
}

extension UploadChannel: UploadSink {}

/// Keeps a body in memory, up to a limit.
final class CollectingSink: UploadSink {
    private struct State {
        var bytes: [UInt8] = []
        var result: Result<Void, CurlewError> = .success(())
    }

    private let limit: Int
    private let state = Guarded(State())

    init(limit: Int) { self.limit = limit }

    func write(_ chunk: [UInt8]) async -> Bool {
        state.withLock { state in
            guard chunk.count <= limit - state.bytes.count else {
                state.result = .failure(CurlewError(.bodyFailed, "the request's body has more than \(limit) bytes"))
                return false
            }
            state.bytes += chunk
            return true
        }
    }

    func finish(_ result: Result<Void, CurlewError>) {
        state.withLock { state in
            if case .success = state.result { state.result = result }
        }
    }

    /// Returns the collected body.
    func collected() throws -> [UInt8] {
        try state.withLock { state in
            try state.result.get()
            return state.bytes
        }
    }
}

/// The sources of a request's body, one for each attempt that sends it.
struct UploadFeed {
    /// The task that reads the body; nil if it must not be cancelled: a relayed body ends it itself.
    private var pump: Task<Void, Never>?
    private var count = 0

    /// A source from the body's first byte on; nil if the body cannot be read again. It is called only when libcurl
    /// wants the first byte: a failed connection does not consume a stream.
    /// - Parameter wake: Called, on any thread, when there are bytes to send again.
    mutating func next(for request: PreparedRequest, wake: @escaping @Sendable () -> Void) -> UploadSource? {
        count += 1
        guard count == 1 || request.body.isReplayable else { return nil }
        switch request.body.source {
        case .none: return UploadSource.none
        case .bytes(let bytes): return .bytes(bytes)
        case let source:
            let channel = UploadChannel(capacity: request.bodyBufferSize, wakeReader: wake)
            pump?.cancel()
            let length = request.contentLength
            let made = Task.detached { await UploadPump.run(source, length: length, into: channel) }
            if case .relayed(let body) = source, !body.endsWithTransfer { pump = nil } else { pump = made }
            return .channel(channel)
        }
    }

    /// Ends the feed, because no more of the body is wanted.
    mutating func end() {
        pump?.cancel()
        pump = nil
    }
}
