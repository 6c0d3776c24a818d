/// The state that copies of a cache share: statistics, listeners, and running work.
final class CacheCore: Sendable {
    private struct State {
        var figures = HTTPCache.Figures()
        var failing: Set<StoreCall> = []
        /// Entries that are being validated in the background.
        var validating: Set<HTTPCache.Entry.ID> = []
        /// The tasks that are storing responses. Later requests for the same key wait for them.
        var pending: [HTTPCache.Entry.Key: [Int: Task<Void, Never>]] = [:]
        var nextPending = 0
        /// Recent invalidations with their generations: responses to older requests are not stored.
        var invalidations: [String: UInt64] = [:]
        var generation: UInt64 = 0
        var floor: UInt64 = 0
        /// URIs whose removal failed in the store.
        var unforgotten: Set<String> = []
        var ignoresStore = false
        /// The number of running store calls that exceed their time limit.
        var stalled = 0
    }

    let store: any HTTPCache.Store
    let events = Broadcaster<HTTPCache.Event>(bufferSize: 1000)
    let coalescing = Coalescing()
    private let deadlines = Deadlines()
    /// Removing calls have a longer time limit than the calls of a request.
    private let removalDeadlines = Deadlines()
    private let state = Guarded(State())
    /// The most invalidations that are remembered.
    private static let memory = 1024

    private let removalTimeout: Duration

    init(store: any HTTPCache.Store, removalTimeout: Duration = HTTPCache.removalTimeout) {
        self.store = store
        self.removalTimeout = removalTimeout
    }

    deinit { events.finish() }

    var figures: HTTPCache.Figures { state.withLock { $0.figures } }

    func count(_ change: (inout HTTPCache.Figures) -> Void) { state.withLock { change(&$0.figures) } }

    // MARK: Store

    /// The kinds of store calls. One kind may fail while others work, for example on a full disk.
    enum StoreCall: Sendable, Hashable {
        case finding, reading, writing, updating, removing
    }

    /// Records a failure of a kind of call. Listeners are notified once, until such a call has succeeded.
    func report(_ error: any Error, of call: StoreCall) {
        let isFirst = state.withLock { state in
            state.figures.storeFailures += 1
            return state.failing.insert(call).inserted
        }
        guard isFirst else { return }
        let failure = error as? CurlewError ?? CurlewError(.cacheFailed, "the cache's store failed", underlying: error)
        events.publish(.storeFailed(failure))
    }

    /// Records a success of a kind of call.
    func succeeded(_ call: StoreCall) {
        state.withLock { if !$0.failing.isEmpty { $0.failing.remove(call) } }
    }

    func remove(_ selection: HTTPCache.Selection) async throws {
        state.withLock { state in
            state.generation += 1
            state.floor = state.generation
        }
        let isDone = try await removalDeadlines.outcome(
            of: { [self] in
                try await store.remove(selection)
                if selection.isAll { state.withLock { ($0.unforgotten, $0.ignoresStore) = ([], false) } }
                return true
            }, within: removalTimeout)
        guard isDone != nil else { throw CurlewError(.cacheFailed, "the cache's store takes too long to remove") }
    }

    /// Calls the store with a time limit, and reports failures. While an earlier call exceeds its limit, the store is
    /// not called.
    /// - Returns: nil if the call fails, takes too long, or is not made.
    @discardableResult
    func ask<Value: Sendable>(
        _ call: StoreCall, within limit: Duration,
        _ work: @escaping @Sendable (any HTTPCache.Store) async throws -> Value
    ) async -> Value? {
        let store = store
        do {
            let value: Value?
            if store.isImmediate {
                value = try await work(store)
            } else {
                guard !isStalled else { return nil }
                value = try await deadlines.outcome(
                    of: { try await work(store) }, within: limit,
                    onLateEnd: { [weak self] in self?.state.withLock { $0.stalled -= 1 } })
            }
            if value == nil {
                state.withLock { $0.stalled += 1 }
                throw CurlewError(.cacheFailed, "the cache's store takes too long")
            }
            succeeded(call)
            return value
        } catch {
            report(error, of: call)
            return nil
        }
    }

    var isStalled: Bool { state.withLock { $0.stalled > 0 } }

    func invalidate(_ uris: [String], within limit: Duration) async {
        state.withLock { state in
            state.generation += 1
            if state.invalidations.count + uris.count > Self.memory {
                state.invalidations = [:]
                state.floor = state.generation
            }
            for uri in uris { state.invalidations[uri] = state.generation }
        }
        if await ask(.removing, within: limit, { try await $0.remove(.uris(uris)) }) == nil {
            state.withLock { state in
                // Responses that must not be used are not looked up until all are removed.
                if state.unforgotten.count + uris.count > Self.memory { state.ignoresStore = true }
                if !state.ignoresStore { state.unforgotten.formUnion(uris) }
            }
        }
        if events.hasListeners { events.publish(.invalidated(uris)) }
    }

    /// The number of the last invalidation.
    var generation: UInt64 { state.withLock { $0.generation } }

    /// True if a response to a request of a generation may still be stored.
    func isCurrent(_ uri: String, since generation: UInt64) -> Bool {
        state.withLock { generation >= $0.floor && generation >= ($0.invalidations[uri] ?? 0) }
    }

    /// True if the store may still hold an invalidated response.
    func mustIgnore(_ uri: String) -> Bool {
        state.withLock { $0.ignoresStore || $0.unforgotten.contains(uri) }
    }

    /// Clears the mark of a failed removal, as a new response is stored.
    func remembers(_ uri: String) { state.withLock { _ = $0.unforgotten.remove(uri) } }

    // MARK: Running work

    /// - Returns: True if the caller may validate the entry, as it is not being validated yet.
    func beginValidation(of id: HTTPCache.Entry.ID) -> Bool { state.withLock { $0.validating.insert(id).inserted } }

    func endValidation(of id: HTTPCache.Entry.ID) { state.withLock { _ = $0.validating.remove(id) } }

    /// Starts a task that stores under a key. Later lookups of the key wait for it.
    func begin(_ key: HTTPCache.Entry.Key, _ work: @escaping @Sendable () async -> Void) {
        // The lock is held, so that the task cannot end before it is recorded.
        state.withLock { state in
            let number = state.nextPending
            state.nextPending += 1
            let task = Task { [weak self] in
                await work()
                self?.end(key, number)
            }
            state.pending[key, default: [:]][number] = task
        }
    }

    private func end(_ key: HTTPCache.Entry.Key, _ number: Int) {
        state.withLock { state in
            state.pending[key]?[number] = nil
            if state.pending[key]?.isEmpty == true { state.pending[key] = nil }
        }
    }

    /// The tasks that are storing under a key.
    func pending(_ key: HTTPCache.Entry.Key) -> [Task<Void, Never>] {
        state.withLock { $0.pending.isEmpty ? [] : $0.pending[key].map { Array($0.values) } ?? [] }
    }

    func flush() async {
        while true {
            let tasks = state.withLock { $0.pending.values.flatMap(\.values) }
            guard !tasks.isEmpty else { return }
            for task in tasks { await task.value }
        }
    }
}
