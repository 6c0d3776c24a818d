internal import HTTPTypes

/// The copying of a body into the store while it is read.
///
/// A store in memory takes each chunk at once. Other stores are fed by a separate task, at most ``backlogLimit`` behind
/// the reader. The reader never waits for a disk; a body that the store cannot keep up with is not stored. The entry is
/// committed after the complete body.
final class CacheDeposit: Sendable {
    /// The most bytes that wait for the store.
    static let backlogLimit = 4 << 20

    private enum Phase {
        case idle
        case direct(any HTTPCache.Writer)
        case queued(AsyncStream<Piece>.Continuation)
        case ended
    }

    /// The time limit for the store to take the rest of a body after its end, as a multiple of the limit of a single
    /// call.
    private static let patience = 20

    private enum Piece: Sendable {
        case chunk([UInt8])
        case end(HTTPFields)
    }

    private struct State {
        var phase = Phase.idle
        var count: Int64 = 0
        var backlog = 0
        /// The task that feeds a store outside memory.
        var feeding: Task<Void, Never>?
    }

    private let exchange: CacheExchange
    private let entry: HTTPCache.Entry
    private let own: Int64
    private let body: CurlewResponse.Body
    private let limit: Int
    private let replaced: [HTTPCache.Entry.ID]
    private let state = Guarded(State())

    private var cache: HTTPCache { _read { yield exchange.cache } }
    private var core: CacheCore { exchange.cache.core }
    private var generation: UInt64 { exchange.generation }

    /// - Parameters:
    ///   - exchange: The exchange of the response.
    ///   - entry: The entry to store.
    ///   - own: The number of bytes of the body, without the prefix; -1 if unknown.
    ///   - body: The body from the network.
    ///   - limit: The most bytes that are stored.
    ///   - replaced: The entries that the new one replaces.
    init(
        exchange: CacheExchange, entry: HTTPCache.Entry, own: Int64, body: CurlewResponse.Body, limit: Int,
        replaced: [HTTPCache.Entry.ID]
    ) {
        self.exchange = exchange
        self.entry = entry
        self.own = own
        self.body = body
        self.limit = limit
        self.replaced = replaced
    }

    /// - Parameter prefix: The bytes of another entry that precede the body.
    /// - Returns: True if the body is going to be stored.
    func begin(behind prefix: (entry: HTTPCache.Entry, bytes: Range<Int64>)?) async -> Bool {
        let store = cache.store
        if store.isImmediate {
            do {
                let writer = try await store.write(entry)
                if let prefix {
                    guard let bytes = try await store.body(of: prefix.entry, range: prefix.bytes) else { return false }
                    for try await chunk in bytes { try await writer.append(chunk) }
                }
                state.withLock { $0.phase = .direct(writer) }
                return true
            } catch {
                core.report(error, of: .writing)
                return false
            }
        }
        guard !core.isStalled else { return false }
        let (pieces, continuation) = AsyncStream.makeStream(of: Piece.self)
        state.withLock { $0.phase = .queued(continuation) }
        let feeding = Task { [self] in await write(pieces, behind: prefix) }
        state.withLock { $0.feeding = feeding }
        return true
    }

    /// Stores a chunk before its reader gets it.
    func append(_ chunk: [UInt8]) async {
        let (writer, isTooMuch) = state.withLock { state -> ((any HTTPCache.Writer)?, Bool) in
            state.count += Int64(chunk.count)
            let isTooLarge = state.count > Int64(limit) || own >= 0 && state.count > own
            switch state.phase {
            case .direct(let writer):
                if isTooLarge { state.phase = .ended }
                return (writer, isTooLarge)
            case .queued(let continuation):
                state.backlog += chunk.count
                if isTooLarge || state.backlog > Self.backlogLimit {
                    state.phase = .ended
                    continuation.finish()
                    state.feeding?.cancel()
                    state.feeding = nil
                    return (nil, state.backlog > Self.backlogLimit)
                }
                continuation.yield(.chunk(chunk))
                return (nil, false)
            case .idle, .ended: return (nil, false)
            }
        }
        guard let writer else {
            if isTooMuch {
                core.report(CurlewError(.cacheFailed, "the cache's store cannot keep up with a body"), of: .writing)
            }
            return
        }
        if isTooMuch { return await writer.discard() }
        do {
            try await writer.append(chunk)
        } catch {
            state.withLock { $0.phase = .ended }
            core.report(error, of: .writing)
            await writer.discard()
        }
    }

    /// Commits the entry after the end of the body.
    func finish(_ trailers: HTTPFields) async {
        let (writer, feeding) = state.withLock { state -> ((any HTTPCache.Writer)?, Task<Void, Never>?) in
            defer { (state.phase, state.feeding) = (.ended, nil) }
            switch state.phase {
            case .direct(let writer): return (writer, nil)
            case .queued(let continuation):
                continuation.yield(.end(trailers))
                continuation.finish()
                return (nil, state.feeding)
            case .idle, .ended: return (nil, nil)
            }
        }
        if let writer { await commit(writer, trailers) }
        if let feeding {
            // The task is registered only now, so a later request for the same key waits for the store and never for
            // the reader.
            core.begin(entry.key) { await feeding.value }
            limit(feeding)
        }
    }

    /// Cancels the feeding task if it takes too long for the remaining bytes.
    private func limit(_ feeding: Task<Void, Never>) {
        let limit = min(cache.storeTimeout, .seconds(60)) * Self.patience
        let timer = Task {
            try await ContinuousClock().sleep(for: limit)
            feeding.cancel()
        }
        Task {
            await feeding.value
            timer.cancel()
        }
    }

    /// Ends the storing after the body broke off.
    func fail() {
        let feeding = state.withLock { state in
            if case .queued(let continuation) = state.phase { continuation.finish() }
            defer { (state.phase, state.feeding) = (.ended, nil) }
            return state.feeding
        }
        feeding?.cancel()
    }

    /// Ends the storing after the reader has stopped before the end of the body.
    func abandon() {
        let isComplete = state.withLock { state -> Bool? in
            switch state.phase {
            case .idle, .ended: return nil
            case .direct, .queued: return own >= 0 && state.count == own
            }
        }
        guard let isComplete else { return }
        if isComplete {
            core.begin(entry.key) { [self] in await finish(body.trailers) }
        } else if cache.finishesAbandonedBodies {
            Task { [self] in
                do {
                    for try await chunk in body {
                        await append(chunk)
                        if state.withLock({ if case .ended = $0.phase { true } else { false } }) {
                            return body.abandon()
                        }
                    }
                    await finish(body.trailers)
                } catch {
                    fail()
                }
            }
        } else {
            fail()
            body.abandon()
        }
    }

    // MARK: Feeding task

    private func write(_ pieces: AsyncStream<Piece>, behind prefix: (entry: HTTPCache.Entry, bytes: Range<Int64>)?)
        async
    {
        do {
            let writer = try await cache.store.write(entry)
            do {
                if let prefix {
                    guard let bytes = try await cache.store.body(of: prefix.entry, range: prefix.bytes) else {
                        fail()
                        return await writer.discard()
                    }
                    for try await chunk in bytes { try await writer.append(chunk) }
                }
                for await piece in pieces {
                    switch piece {
                    case .chunk(let chunk):
                        try await writer.append(chunk)
                        state.withLock { $0.backlog -= chunk.count }
                    case .end(let trailers): return await commit(writer, trailers)
                    }
                }
                await writer.discard()
            } catch {
                core.report(error, of: .writing)
                fail()
                await writer.discard()
            }
        } catch {
            core.report(error, of: .writing)
            fail()
        }
    }

    /// Removes duplicates that equal requests have stored at the same time, except one. It runs after the commit, so
    /// each request sees the earlier entries.
    ///
    /// A part never replaces a complete response. A key without the query holds responses to several queries.
    private func removeTwins(of entry: HTTPCache.Entry) async {
        let isFoundByPath = entry.key.uri != exchange.request.key.uri
        let query = exchange.request.request.uri.query
        let found = await core.ask(.finding, within: cache.storeTimeout) { try await $0.entries(for: entry.key) }
        let twins = (found ?? []).filter { other in
            other.selectors == entry.selectors && (entry.range == nil || other.range != nil)
                && (!isFoundByPath || NoVarySearch.isFound(other, by: query))
        }
        guard twins.count > 1 else { return }
        // All requests sort the entries in the same total order. Otherwise two requests could remove each other's
        // entry.
        let kept = twins.max { one, other in
            if (one.range == nil) != (other.range == nil) { return one.range != nil }
            return (one.rules.date, one.responseTime, one.id.description)
                < (other.rules.date, other.responseTime, other.id.description)
        }
        let others = twins.map(\.id).filter { $0 != kept?.id }
        await core.ask(.removing, within: cache.storeTimeout) { try await $0.remove(.entries(others)) }
    }

    private func commit(_ writer: any HTTPCache.Writer, _ trailers: HTTPFields) async {
        let count = state.withLock { $0.count }
        let added = entry.range == nil && entry.bodySize >= 0 && own >= 0 ? entry.bodySize - own : 0
        let size = entry.range.map { $0.upperBound - $0.lowerBound } ?? (count + added)
        guard own < 0 || count == own, core.isCurrent(entry.key.uri, since: generation) else {
            return await writer.discard()
        }
        var kept = trailers.isEmpty ? trailers : exchange.cache.judge.stored(trailers, CacheRules(trailers))
        // The trailers follow the last part of a combined body.
        if entry.bodySize != own { kept.removeContentDigests() }
        let whole = entry.completed(trailers: kept, bodySize: size)
        do {
            let uri = entry.key.uri
            // Invalidated entries that could not be removed earlier are removed now; otherwise they would be found
            // beside the new one.
            if core.mustIgnore(uri),
                await core.ask(.removing, within: cache.storeTimeout, { try await $0.remove(.uris([uri])) }) == nil
            {
                return await writer.discard()
            }
            try await writer.commit(whole, replacing: replaced)
            core.succeeded(.writing)
            await removeTwins(of: whole)
            guard core.isCurrent(uri, since: generation) else {
                return try await cache.store.remove(.entries([whole.id]))
            }
            core.remembers(uri)
            core.count { figures in
                figures.stored += 1
                figures.storedBytes += size
            }
            if core.events.hasListeners { core.events.publish(.stored(whole)) }
        } catch {
            core.report(error, of: .writing)
            await writer.discard()
        }
    }
}

/// The chunks of a body. Each is stored before its reader gets it.
struct CachingChunks: AsyncSequence, Sendable {
    private let body: CurlewResponse.Body
    private let reading: Reading

    init(body: CurlewResponse.Body, deposit: CacheDeposit) {
        self.body = body
        reading = Reading(deposit: deposit)
    }

    /// Ends the storing when its last reference is released.
    fileprivate final class Reading: Sendable {
        let deposit: CacheDeposit

        init(deposit: CacheDeposit) { self.deposit = deposit }

        deinit { deposit.abandon() }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(chunks: body.makeAsyncIterator(), body: body, reading: reading)
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        private var chunks: CurlewResponse.Body.AsyncIterator
        private let body: CurlewResponse.Body
        private let reading: Reading

        fileprivate init(
            chunks: CurlewResponse.Body.AsyncIterator, body: CurlewResponse.Body, reading: Reading
        ) {
            self.chunks = chunks
            self.body = body
            self.reading = reading
        }

        mutating func next() async throws -> [UInt8]? {
            do {
                guard let chunk = try await chunks.next() else {
                    await reading.deposit.finish(body.trailers)
                    return nil
                }
                await reading.deposit.append(chunk)
                return chunk
            } catch {
                reading.deposit.fail()
                throw error
            }
        }
    }
}

/// The chunks of two bodies in succession.
struct JoinedChunks: AsyncSequence, Sendable {
    let first: CurlewResponse.Body
    let second: CurlewResponse.Body

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(first: first.makeAsyncIterator(), second: second.makeAsyncIterator())
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var first: CurlewResponse.Body.AsyncIterator?
        fileprivate var second: CurlewResponse.Body.AsyncIterator

        mutating func next() async throws -> [UInt8]? {
            if let chunk = try await first?.next() { return chunk }
            first = nil
            return try await second.next()
        }
    }
}
