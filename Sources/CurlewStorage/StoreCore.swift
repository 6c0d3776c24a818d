#if Storage
internal import Curlew
internal import Dispatch
internal import GRDB
internal import CurlewPlatform
internal import Synchronization

/// The shared state of a store and its writers: the folder, the open index, and the uses that are not yet written.
final class StoreCore: Sendable {
    /// The limits of a store.
    struct Limits: Sendable {
        let capacity: Int
        let entry: Int
        let variants: Int
        /// The age limit in microseconds.
        let age: Int64?
        /// The maximum time that a call waits for the index.
        let patience: Duration
    }

    let folder: StoreFolder
    let limits: Limits
    let queues = DiskQueues()
    let recentBodies = Guarded(RecentBodies())
    let decoded = Guarded(DecodedEntries())
    private let now: @Sendable () -> Int64
    private let onEvent: (@Sendable (DiskCacheStore.Event) -> Void)?
    private let current: Guarded<CacheIndex>
    private let uses = Guarded(PendingUses())
    private let evictionCount = Atomic(0)
    private let lastAgeCheck: Atomic<Int64>

    /// The boot of the operating system. Files that were written during another boot may be incomplete after its
    /// failure.
    let boot = StoreCore.currentBoot()

    /// The size of an entry besides its body and fields: its row and its entries in the database's indexes.
    private static let rowSize = 256

    /// Opens the store and removes outdated data.
    /// - Parameter now: The time in microseconds since 1970.
    init(
        folder path: String, limits: Limits, now: @escaping @Sendable () -> Int64,
        onEvent: (@Sendable (DiskCacheStore.Event) -> Void)?
    ) async throws {
        self.limits = limits
        self.now = now
        self.onEvent = onEvent
        lastAgeCheck = Atomic(now())
        let (folder, opened) = try await queues.next.perform {
            let folder = try StoreFolder(path)
            return (folder, try OpenedIndex(in: folder, beyond: 0, patience: limits.patience))
        }
        self.folder = folder
        current = Guarded(opened.index)
        opened.events.forEach(report)
        try await putInOrder()
    }

    deinit {
        let uses = uses.withLock { $0.take() }
        let index = current.withLock { $0 }
        // The last reference to an index closes it, which may wait for the disk, so it is released on the writer's
        // queue.
        index.writeLater { [boot] database in
            _ = index
            try CacheQueries(database: database).record(uses, boot: boot)
        }
    }

    private static func currentBoot() -> Int64 {
        let path = "/proc/sys/kernel/random/boot_id"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { _ = CurlewPlatform.close(descriptor) } }
        var bytes = [UInt8](repeating: 0, count: 36)
        guard descriptor >= 0, CurlewPlatform.read(descriptor, &bytes, bytes.count) == bytes.count,
            let number = UInt64(
                String(decoding: bytes.filter { $0 != UInt8(ascii: "-") }.prefix(16), as: UTF8.self), radix: 16)
        else { return Int64.random(in: 1 ... .max) }  // The random number makes every body be verified once.
        return Int64(truncatingIfNeeded: number)
    }

    func report(_ event: DiskCacheStore.Event) { onEvent?(event) }

    // MARK: Index

    /// Works on the index. If the index proves to be damaged, a new one replaces it and the work is repeated.
    /// - Throws: ``Curlew/CurlewError``.
    func withIndex<Value>(_ work: (CacheIndex) async throws -> Value) async throws -> Value {
        let index = current.withLock { $0 }
        do {
            return try await work(index)
        } catch let error as DatabaseError where error.isDamage {
            try await replace(index, because: error.reason)
        } catch {
            throw CurlewError(index: error)
        }
        do {
            return try await work(current.withLock { $0 })
        } catch {
            throw CurlewError(index: error)
        }
    }

    private static let opening = DispatchQueue(label: "curlew.cache.opening")

    private func replace(_ index: CacheIndex, because reason: String) async throws {
        let isReplaced = try await Self.opening.perform {
            guard self.current.withLock({ $0 }) === index else { return false }
            let opened = try OpenedIndex(
                in: self.folder, beyond: index.file.number, patience: self.limits.patience)
            self.current.withLock { $0 = opened.index }
            self.recentBodies.withLock { $0.removeAll() }
            if opened.isNew { self.report(OpenedIndex.discarding(reason)) }
            opened.events.forEach(self.report)
            return true
        }
        if isReplaced { try await putInOrder() }
    }

    /// Writes pending uses and closes the index.
    func close() async throws {
        let uses = uses.withLock { $0.take() }
        let index = current.withLock { $0 }
        do {
            if !uses.isEmpty {
                try await index.write { [boot] in try CacheQueries(database: $0).record(uses, boot: boot) }
            }
            try await index.close()
        } catch {
            throw CurlewError(index: error)
        }
    }

    // MARK: Cleaning

    /// Removes excess, outdated and leftover data.
    private func putInOrder() async throws {
        let deleted = try await withIndex { index in
            try await index.write { database in
                let queries = CacheQueries(database: database)
                var deleted: [DeletedEntry] = []
                if let age = self.limits.age { deleted += try queries.deleteUnused(since: self.now() - age) }
                return try deleted + queries.deleteOldest(downTo: self.limits.capacity, keeping: nil)
            }
        }
        evictionCount.wrappingAdd(deleted.count, ordering: .relaxed)
        await forget(deleted)
        let missing = try await withIndex { index in
            try await self.queues.next.perform { try self.compare(with: index) }
        }
        try await discard(missing, because: "its body is missing")
    }

    /// Compares the files with the index, and removes files without an entry.
    /// - Returns: The names of entries whose files are missing.
    private func compare(with index: CacheIndex) throws -> [String] {
        let found = try folder.bodyNames()
        // The order matters: a file gets its name before its entry, and is removed after its entry.
        let expected = try index.readWaiting { try CacheQueries(database: $0).fileNames() }
        var removed = 0
        for name in found where !expected.contains(name) {
            let isRemoved = try folder.removeLeftover(name) { id in
                try index.readWaiting { try CacheQueries(database: $0).entry(id) } != nil
            }
            if isRemoved { removed += 1 }
        }
        if removed > 0 {
            report(.init(.leftoversRemoved, "\(removed) files without an entry were removed"))
        }
        return expected.subtracting(found).filter { name in HTTPCache.Entry.ID(name).map { !folder.hasBody($0) } ?? true
        }
    }

    /// Deletes damaged entries.
    func discard(_ names: [String], because reason: String) async throws {
        guard !names.isEmpty else { return }
        let deleted = try await withIndex { index in
            try await index.write { try CacheQueries(database: $0).delete(names) }
        }
        await forget(deleted)
        for entry in deleted {
            report(.init(.entryDiscarded, "an entry was discarded: \(reason)", entry: HTTPCache.Entry.ID(entry.id)))
        }
    }

    /// Removes the files of entries that the index does not contain any more.
    private func forget(_ deleted: [DeletedEntry]) async {
        guard !deleted.isEmpty else { return }
        recentBodies.withLock { recent in
            for entry in deleted {
                if let id = HTTPCache.Entry.ID(entry.id) { recent.forget(id) }
            }
        }
        let files = deleted.filter(\.isFile).compactMap { HTTPCache.Entry.ID($0.id) }
        guard !files.isEmpty else { return }
        try? await queues.next.perform { [folder] in files.forEach(folder.removeBody) }
    }
}

// MARK: Uses

extension StoreCore {
    /// Records the use of an entry, without a transaction.
    func noteUse(of id: HTTPCache.Entry.ID, isVerified: Bool = false) {
        let time = now()
        let due = uses.withLock { uses in
            uses.add(id, at: time, isVerified: isVerified)
            return uses.areDue(at: time) ? uses.take() : [:]
        }
        guard !due.isEmpty else { return }
        current.withLock { $0 }.writeLater { [boot] in try CacheQueries(database: $0).record(due, boot: boot) }
    }

    /// The times of uses that are not yet written to the index.
    func pendingTimes(of ids: [HTTPCache.Entry.ID]) -> [HTTPCache.Entry.ID: Int64] {
        uses.withLock { uses in
            guard !uses.uses.isEmpty else { return [:] }
            return Dictionary(ids.compactMap { id in uses.uses[id].map { (id, $0.time) } }) { first, _ in first }
        }
    }

    /// True if an entry's body was compared with its checksum and that is not yet written to the index.
    func isVerified(_ id: HTTPCache.Entry.ID) -> Bool { uses.withLock { $0.uses[id]?.isVerified ?? false } }
}

// MARK: Writing

extension StoreCore {
    /// Commits an entry, and removes replaced and evicted entries.
    /// - Parameter body: The body, unless it is a file with its final name.
    func commit(
        _ entry: HTTPCache.Entry, checksum: UInt32, body: [UInt8]?, replacing replaced: [HTTPCache.Entry.ID]
    ) async throws {
        let metadata = try metadata(of: entry)
        let size = size(of: entry, metadata)
        guard size <= limits.capacity else {
            throw CurlewError(.cacheFailed, "an entry of \(size) bytes is larger than the cache")
        }
        try await write { queries, change in
            change.removed += try queries.delete(replaced.map(\.description))
            try queries.insert(
                entry, metadata: metadata, size: size, checksum: checksum, body: body, used: self.now(), boot: self.boot
            )
            if try queries.count(of: entry.key) > self.limits.variants {
                try self.recordUses(queries, &change)
                change.evicted += try queries.deleteVariants(
                    of: entry.key, beyond: self.limits.variants, keeping: entry.id)
            }
            try self.evict(queries, &change, keeping: entry.id)
        }
    }

    func update(_ entry: HTTPCache.Entry) async throws -> Bool {
        let metadata = try metadata(of: entry)
        let size = size(of: entry, metadata)
        return try await write { queries, change in
            guard try queries.update(entry, metadata: metadata, size: size) else { return false }
            try self.evict(queries, &change, keeping: entry.id)
            return true
        }
    }

    func remove(_ selection: HTTPCache.Selection) async throws {
        if selection.isAll { recentBodies.withLock { $0.removeAll() } }
        try await write { queries, change in change.removed += try queries.delete(selection) }
    }

    private func metadata(of entry: HTTPCache.Entry) throws -> [UInt8] {
        let metadata = entry.encoded
        guard metadata.count <= HTTPCache.Entry.encodedLimit else {
            throw CurlewError(
                .cacheFailed, "the fields of an entry are larger than \(HTTPCache.Entry.encodedLimit) bytes")
        }
        return metadata
    }

    private func size(of entry: HTTPCache.Entry, _ metadata: [UInt8]) -> Int {
        Int(entry.bodySize) + metadata.count + Self.rowSize
    }

    /// The side effects of a transaction.
    private struct Change: Sendable {
        var removed: [DeletedEntry] = []
        var evicted: [DeletedEntry] = []
        var uses: [HTTPCache.Entry.ID: EntryUse] = [:]
    }

    private func write<Value: Sendable>(
        _ work: @escaping @Sendable (CacheQueries, inout Change) throws -> Value
    ) async throws -> Value {
        let (value, change) = try await withIndex { index in
            try await index.write { database in
                var change = Change()
                do {
                    return (try work(CacheQueries(database: database), &change), change)
                } catch {
                    self.uses.withLock { $0.restore(change.uses) }
                    throw error
                }
            }
        }
        evictionCount.wrappingAdd(change.evicted.count, ordering: .relaxed)
        await forget(change.removed + change.evicted)
        return value
    }

    private func evict(_ queries: CacheQueries, _ change: inout Change, keeping id: HTTPCache.Entry.ID) throws {
        let time = now()
        if let age = limits.age, isAgeCheckDue(at: time, age) {
            try recordUses(queries, &change)
            change.evicted += try queries.deleteUnused(since: time - age)
        }
        guard try queries.totals().size > limits.capacity else { return }
        try recordUses(queries, &change)
        change.evicted += try queries.deleteOldest(downTo: limits.capacity, keeping: id)
    }

    /// True once in each sixteenth of the age limit.
    private func isAgeCheckDue(at time: Int64, _ age: Int64) -> Bool {
        let last = lastAgeCheck.load(ordering: .relaxed)
        guard time < last || time - last >= age / 16 else { return false }
        lastAgeCheck.store(time, ordering: .relaxed)
        return true
    }

    private func recordUses(_ queries: CacheQueries, _ change: inout Change) throws {
        let pending = uses.withLock { $0.take() }
        change.uses.merge(pending) { _, newer in newer }
        try queries.record(pending, boot: boot)
    }

    var contents: HTTPCache.Contents {
        get async throws {
            let totals = try await withIndex { index in
                try await index.read { try CacheQueries(database: $0).totals() }
            }
            return HTTPCache.Contents(
                entries: totals.entries, size: ByteSize(totals.size), capacity: ByteSize(limits.capacity),
                evictions: evictionCount.load(ordering: .relaxed))
        }
    }
}

/// The newest usable index of a folder, opened.
private struct OpenedIndex: Sendable {
    let index: CacheIndex
    /// True if no other store has made it before.
    let isNew: Bool
    /// The indexes that were discarded during opening.
    let events: [DiskCacheStore.Event]

    private static let attempts = 4

    /// - Parameter damaged: The number of a damaged index.
    init(in folder: StoreFolder, beyond damaged: Int, patience: Duration) throws {
        let lock = try folder.lockForOpening()
        defer { withExtendedLifetime(lock) {} }
        let files = try folder.indexes()
        let newest = files.last?.number ?? 0
        var events: [DiskCacheStore.Event] = []
        var tried: [IndexFile] = []
        var file = IndexFile(number: newest > damaged ? newest : max(1, damaged + 1))
        for _ in 0..<Self.attempts {
            do {
                index = try CacheIndex(file, in: folder, patience: patience)
                isNew = file.number > newest
                self.events = events
                for old in Set(files + tried) where old.number < file.number { folder.remove(old) }
                return
            } catch let error as CacheIndex.Unusable {
                events.append(Self.discarding(error.reason))
                tried.append(file)
                file = IndexFile(number: file.number + 1)
            }
        }
        throw CurlewError(.cacheFailed, "there can be no index of the cache: \(events.last?.message ?? "")")
    }

    static func discarding(_ reason: String) -> DiskCacheStore.Event {
        .init(.indexDiscarded, "the index of the cache was discarded: \(reason)")
    }
}
#endif
