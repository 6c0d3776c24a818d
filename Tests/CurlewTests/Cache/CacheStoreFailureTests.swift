import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

/// A memory store with faults that a test sets.
private final class FaultyStore: HTTPCache.Store {
    enum Fault: Sendable, CaseIterable {
        case entries, body, write, append, commit, update, remove
        /// Calls never return.
        case hangs
        /// Found entries have no body.
        case forgets
        /// Entries have unexpected keys and sizes.
        case garbage
    }

    let faults: Guarded<Set<Fault>>
    let memory = HTTPCache.MemoryStore()
    let entryLimit: ByteSize = .mebibytes(1)

    init(_ faults: Set<Fault> = []) { self.faults = Guarded(faults) }

    fileprivate func check(_ fault: Fault) async throws {
        let faults = faults.withLock { $0 }
        if faults.contains(.hangs) { try await untilCancelled() }
        if faults.contains(fault) { throw CurlewError(.cacheFailed, "as the test wants it") }
    }

    func entries(for key: HTTPCache.Entry.Key) async throws -> [HTTPCache.Entry] {
        try await check(.entries)
        let entries = try await memory.entries(for: key)
        guard faults.withLock({ $0.contains(.garbage) }) else { return entries }
        return entries.map {
            HTTPCache.Entry(
                id: $0.id, key: $0.key, uri: "??", head: $0.head, requestTime: .min, responseTime: .max, range: 5..<7,
                bodySize: 1 << 40)
        }
    }

    /// An action before a body is returned, once.
    let beforeBody = Guarded<(@Sendable () async throws -> Void)?>(nil)

    func body(of entry: HTTPCache.Entry, range: Range<Int64>) async throws -> CurlewResponse.Body? {
        let before = beforeBody.withLock { before in
            defer { before = nil }
            return before
        }
        try await before?()
        try await check(.body)
        return faults.withLock { $0.contains(.forgets) } ? nil : try await memory.body(of: entry, range: range)
    }

    func write(_ entry: HTTPCache.Entry) async throws -> any HTTPCache.Writer {
        try await check(.write)
        return Writer(store: self, writer: try await memory.write(entry))
    }

    func update(_ entry: HTTPCache.Entry) async throws -> Bool {
        try await check(.update)
        return try await memory.update(entry)
    }

    func remove(_ selection: HTTPCache.Selection) async throws {
        try await check(.remove)
        try await memory.remove(selection)
    }

    func list(after id: HTTPCache.Entry.ID?, count: Int) async throws -> [HTTPCache.Entry] {
        try await memory.list(after: id, count: count)
    }

    var contents: HTTPCache.Contents { get async throws { memory.contents } }

    private struct Writer: HTTPCache.Writer {
        let store: FaultyStore
        let writer: any HTTPCache.Writer

        func append(_ bytes: [UInt8]) async throws {
            try await store.check(.append)
            try await writer.append(bytes)
        }

        func commit(_ entry: HTTPCache.Entry, replacing replaced: [HTTPCache.Entry.ID]) async throws {
            try await store.check(.commit)
            try await writer.commit(entry, replacing: replaced)
        }

        func discard() async { await writer.discard() }
    }
}

@Suite("Failing stores", .noLeaks, .timeLimit(.minutes(2)))
struct CacheStoreFailureTests {
    @Test(
        "requests succeed without a failing store, and listeners are notified once",
        arguments: FaultyStore.Fault.allCases
    )
    fileprivate func goesOn(_ fault: FaultyStore.Fault) async throws {
        let store = FaultyStore()
        let scene = try await CacheScene(store: store) { cache in
            cache.storeTimeout = .milliseconds(100)
        } answer: { request, number in
            if request.fields[.ifNoneMatch] == "\"a\"" { return MockResponse(status: .notModified) }
            return .numbered(number, [.eTag: "\"a\"", .cacheControl: "max-age=10"])
        }
        let events = scene.cache.events
        _ = try await scene.get()
        await scene.cache.flush()
        store.faults.withLock { $0 = [fault] }
        for round in 0..<3 {
            let answer = try await scene.send()
            #expect(answer.code == 200)
            #expect(!answer.text.isEmpty)
            #expect(try await scene.send(.get, "/\(round)").code == 200)
            if fault == .remove { #expect(try await scene.send(.post).code == 200) }
            scene.clock.advance(20)
        }
        #expect(try await scene.send(.put).code == 200)
        await scene.api.shutdown()
        store.faults.withLock { $0 = [] }
        await scene.cache.flush()
        try await scene.cache.removeAll()
        let count = scene.cache.figures.storeFailures
        let isSilent = fault == .forgets || fault == .garbage
        #expect(isSilent ? count == 0 : count > 0, "\(count)")
        var failures = 0
        for await event in events {
            if case .storeFailed = event { failures += 1 }
            if case .invalidated = event { break }
        }
        // A store that hangs fails with its first call, whichever it is.
        #expect(isSilent ? failures == 0 : fault == .hangs ? failures >= 1 : failures == 1, "\(failures)")
    }

    @Test("an entry that is replaced during its look-up is answered from its replacement")
    func replacedMeanwhile() async throws {
        let store = FaultyStore()
        let scene = try await CacheScene(store: store) { .numbered($1, [.cacheControl: "max-age=600"]) }
        _ = try await scene.get()
        await scene.cache.flush()
        let old = try #require(try await store.memory.list(after: nil, count: 1).first)
        store.beforeBody.withLock {
            $0 = {
                let new = HTTPCache.Entry(
                    id: HTTPCache.Entry.ID(), key: old.key, uri: old.uri, head: old.head, requestTime: old.requestTime,
                    responseTime: old.responseTime, bodySize: 3)
                let writer = try await store.memory.write(new)
                try await writer.append(Array("new".utf8))
                try await writer.commit(new, replacing: [old.id])
            }
        }
        #expect(try await scene.get() == "200 new hit")
        #expect(scene.server.requestCount == 1)
    }

    @Test("a response that could not be removed is not served while it may still be stored")
    func unforgotten() async throws {
        let store = FaultyStore()
        let scene = try await CacheScene(store: store) { .numbered($1, [.cacheControl: "max-age=600"]) }
        _ = try await scene.get()
        await scene.cache.flush()
        #expect(try await scene.get() == "200 1 hit")
        store.faults.withLock { $0 = [.remove] }
        _ = try await scene.send(.post)
        store.faults.withLock { $0 = [] }
        #expect(try await scene.get() == "200 3 miss")
        await scene.cache.flush()
        #expect(try await scene.get() == "200 3 hit")
    }

    @Test("a body is stored by a separate task, so that a slow store does not delay the reader")
    func slowStore() async throws {
        let store = FaultyStore([.hangs])
        let scene = try await CacheScene(store: store) { cache in
            cache.storeTimeout = .milliseconds(50)
        } answer: { _, _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: .pattern(count: 900 << 10))
        }
        #expect(try await scene.send().text.utf8.count > 0)
        await scene.cache.flush()
        #expect(scene.cache.figures.storeFailures > 0)
        #expect(scene.cache.figures.stored == 0)
        await scene.api.shutdown()
    }
}

@Suite("The memory store", .noLeaks)
struct MemoryCacheStoreTests {
    private func entry(_ uri: String, size: Int = 0, time: Int64 = 0, partition: String? = nil) -> HTTPCache.Entry {
        HTTPCache.Entry(
            id: HTTPCache.Entry.ID(), key: HTTPCache.Entry.Key(uri: uri, partition: partition), uri: uri,
            head: HTTPResponse(status: .ok), requestTime: time, responseTime: time, bodySize: Int64(size))
    }

    @discardableResult
    private func put(
        _ store: HTTPCache.MemoryStore, _ uri: String, _ size: Int, time: Int64 = 0, partition: String? = nil,
        replacing: [HTTPCache.Entry.ID] = []
    ) async throws -> HTTPCache.Entry {
        let entry = entry(uri, size: size, time: time, partition: partition)
        let writer = try await store.write(entry)
        try await writer.append([UInt8](repeating: UInt8(size % 251), count: size))
        try await writer.commit(entry, replacing: replacing)
        return entry
    }

    @Test("the least recently used entry is evicted first")
    func order() async throws {
        let store = HTTPCache.MemoryStore(capacity: 20_000)
        let first = try await put(store, "a", 5000)
        let second = try await put(store, "b", 5000)
        _ = try await put(store, "c", 5000)
        _ = try await store.body(of: first, range: 0..<5000)
        _ = try await put(store, "d", 5000)
        #expect(try await store.entries(for: first.key).count == 1)
        #expect(try await store.entries(for: second.key).isEmpty)
        #expect(store.contents.entries == 3)
        #expect(store.contents.evictions == 1)
        #expect(store.contents.size <= 20_000)
    }

    @Test("fields, keys and unfinished writes count towards the size")
    func cost() async throws {
        let store = HTTPCache.MemoryStore(capacity: 10_000)
        for number in 0..<100 { try await put(store, "\(number)", 0) }
        #expect(store.contents.entries < 20)
        #expect(store.contents.size <= 10_000)
        let writer = try await store.write(entry("x"))
        try await writer.append([UInt8](repeating: 0, count: 9000))
        #expect(store.contents.size >= 9000)
        await #expect(throws: CurlewError.self) { try await writer.append([UInt8](repeating: 0, count: 9000)) }
        await writer.discard()
        #expect(store.contents.size <= 10_000)
    }

    @Test("a dropped writer leaves no entry, and a writer with another number of bytes is refused")
    func writers() async throws {
        let store = HTTPCache.MemoryStore()
        do {
            let writer = try await store.write(entry("a", size: 5))
            try await writer.append([1, 2, 3])
            await #expect(throws: CurlewError.self) { try await writer.commit(entry("a", size: 5), replacing: []) }
            let dropped = try await store.write(entry("a", size: 5))
            try await dropped.append([1, 2, 3])
        }
        #expect(store.contents == HTTPCache.Contents(entries: 0, size: 0, capacity: .mebibytes(32)))
    }

    @Test("a body stays readable after its removal, and a range has the bytes of its body")
    func readers() async throws {
        let store = HTTPCache.MemoryStore()
        let entry = try await put(store, "a", 100)
        let body = try #require(try await store.body(of: entry, range: 10..<20))
        try await store.remove(.all)
        #expect(try await body.collect(upTo: 100) == [UInt8](repeating: 100, count: 10))
        #expect(try await store.body(of: entry, range: 0..<100) == nil)
    }

    @Test("entries are removed by name, by URI in every partition, and by time; lists continue after a name")
    func removing() async throws {
        let store = HTTPCache.MemoryStore()
        let first = try await put(store, "a", 1, time: 1)
        try await put(store, "b", 1, time: 2, partition: "1")
        try await put(store, "b", 1, time: 3, partition: "2")
        let last = try await put(store, "c", 1, time: 4)
        var listed: [HTTPCache.Entry] = []
        while let next = try await store.list(after: listed.last?.id, count: 1).first { listed.append(next) }
        #expect(listed.count == 4)
        #expect(listed.map(\.id.description) == listed.map(\.id.description).sorted())
        try await store.remove(.uris(["b"]))
        #expect(store.contents.entries == 2)
        try await store.remove(.since(4))
        #expect(try await store.entries(for: last.key).isEmpty)
        try await store.remove(.entries([first.id]))
        #expect(store.contents.entries == 0)
        #expect(store.contents.size == 0)
    }

    @Test("an update keeps the body, and an update of a removed entry is refused")
    func updating() async throws {
        let store = HTTPCache.MemoryStore()
        let entry = try await put(store, "a", 10)
        let updated = entry.updating(
            head: HTTPResponse(status: .ok, headerFields: [.server: "s"]), responseTime: 9)
        #expect(try await store.update(updated))
        #expect(try await store.entries(for: entry.key) == [updated])
        #expect(try await store.body(of: updated, range: 0..<10) != nil)
        try await put(store, "a", 11, replacing: [entry.id])
        #expect(try await store.update(updated) == false)
        #expect(try await store.entries(for: entry.key).map(\.bodySize) == [11])
    }

    /// Every body is derived from its key and generation, so that a wrong byte is visible.
    @Test("64 tasks over a small store, with constant eviction, see no wrong byte")
    func stress() async throws {
        let store = HTTPCache.MemoryStore(capacity: 200_000, entryLimit: 50_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<64 {
                group.addTask {
                    for round in 0..<100 {
                        let name = (task * 7 + round) % 20
                        let key = HTTPCache.Entry.Key(uri: "\(name)")
                        for entry in try await store.entries(for: key) {
                            guard let body = try await store.body(of: entry, range: 0..<entry.bodySize) else {
                                continue
                            }
                            let bytes = try await body.collect(upTo: .mebibytes(1))
                            let mark = UInt8(truncatingIfNeeded: name + Int(entry.requestTime))
                            guard bytes.count == entry.bodySize, bytes.allSatisfy({ $0 == mark }) else {
                                throw CurlewError(.cacheFailed, "wrong bytes")
                            }
                        }
                        let size = (task * 131 + round * 977) % 20_000
                        let entry = HTTPCache.Entry(
                            id: HTTPCache.Entry.ID(), key: key, uri: "\(name)", head: HTTPResponse(status: .ok),
                            requestTime: Int64(round), responseTime: 0, bodySize: Int64(size))
                        let writer = try await store.write(entry)
                        let mark = UInt8(truncatingIfNeeded: name + round)
                        try await writer.append([UInt8](repeating: mark, count: size / 2))
                        try await writer.append([UInt8](repeating: mark, count: size - size / 2))
                        if round % 5 == 0 { continue }
                        let old = try await store.entries(for: key).map(\.id)
                        try await writer.commit(entry, replacing: old)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.contents.size.bytes <= 200_000)
        #expect(store.contents.evictions > 0)
        try await store.remove(.all)
        #expect(store.contents.size == 0)
    }
}
