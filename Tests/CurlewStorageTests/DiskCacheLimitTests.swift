#if Storage
import Curlew
import CurlewStorage
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("The limits of a cache on the disk", .noLeaks, .timeLimit(.minutes(1)))
struct DiskCacheLimitTests {
    private func store(
        _ folder: ScratchFolder, _ clock: SteppingClock, capacity: ByteSize, ageLimit: Duration? = nil,
        variants: Int = 32
    ) async throws -> DiskCacheStore {
        try await DiskCacheStore(
            folder: folder.path, capacity: capacity, entryLimit: capacity, ageLimit: ageLimit, variantLimit: variants,
            now: clock.now)
    }

    private func names(_ store: DiskCacheStore) async throws -> Set<String> {
        Set(try await store.list(after: nil, count: 1000).map { String($0.uri.dropFirst("http://example.com/".count)) })
    }

    @Test(
        "the least recently used entry is evicted, and its open body stays readable",
        arguments: [3_000, 100_000])
    func leastRecentlyUsed(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let clock = SteppingClock()
        let store = try await store(folder, clock, capacity: ByteSize(size * 4))
        var entries: [HTTPCache.Entry] = []
        for name in ["a", "b", "c"] {
            entries.append(try await store.store(makeEntry(name), pattern(name, count: size)))
        }
        let body = try #require(try await store.body(of: entries[1], range: 0..<Int64(size)))
        _ = try await store.bytes(of: entries[0])
        _ = try await store.bytes(of: entries[2])
        try await store.store(makeEntry("d"), pattern("d", count: size))
        #expect(try await names(store) == ["a", "c", "d"])
        #expect(try await body.collect(upTo: .mebibytes(1)) == pattern("b", count: size))
        #expect(try await store.body(of: entries[1], range: 0..<1) == nil)
        try await store.store(makeEntry("e"), pattern("e", count: size * 2))
        #expect(try await names(store) == ["d", "e"])
        let contents = try await store.contents
        #expect(contents.evictions == 3 && contents.entries == 2 && contents.size <= contents.capacity)
        #expect(folder.names(in: "bodies").count == (size > 8 << 10 ? 2 : 0))
    }

    @Test("uses that were not yet written are counted after the store is opened again")
    func usesSurvive() async throws {
        let folder = try ScratchFolder()
        let clock = SteppingClock()
        var store = try await store(folder, clock, capacity: .kibibytes(100))
        let first = try await store.store(makeEntry("a"), pattern("a", count: 30_000))
        try await store.store(makeEntry("b"), pattern("b", count: 30_000))
        _ = try await store.bytes(of: first)
        try await store.close()
        store = try await self.store(folder, clock, capacity: .kibibytes(100))
        try await store.store(makeEntry("c"), pattern("c", count: 50_000))
        #expect(try await names(store) == ["a", "c"])
    }

    @Test("an entry larger than the cache is refused, and no entry is evicted for it")
    func largerThanAll() async throws {
        let folder = try ScratchFolder()
        let store = try await store(folder, SteppingClock(), capacity: 50_000)
        try await store.store(makeEntry("a"), pattern("a", count: 20_000))
        let error = await curlewError { try await store.store(makeEntry("b"), pattern("b", count: 49_999)) }
        #expect(error?.code == .cacheFailed)
        #expect(try await names(store) == ["a"])
        #expect(folder.names(in: "bodies").count == 1)
    }

    @Test("a new entry stays even if the clock was set back")
    func clockPutBack() async throws {
        let folder = try ScratchFolder()
        let clock = SteppingClock()
        let store = try await store(folder, clock, capacity: 50_000)
        try await store.store(makeEntry("a"), pattern("a", count: 20_000))
        clock.advance(by: -500)
        try await store.store(makeEntry("b"), pattern("b", count: 40_000))
        #expect(try await names(store) == ["b"])
    }

    @Test("the number of variants per key is limited, and the most recently used ones stay")
    func variants() async throws {
        let folder = try ScratchFolder()
        let store = try await store(folder, SteppingClock(), capacity: .mebibytes(1), variants: 3)
        let first = try await store.store(makeEntry(), [0])
        let second = try await store.store(makeEntry(), [1])
        let third = try await store.store(makeEntry(), [2])
        _ = try await store.bytes(of: first)
        let fourth = try await store.store(makeEntry(), [3])
        #expect(try await store.entries("a") == [fourth, first, third])
        #expect(try await store.bytes(of: second) == nil)
        try await store.store(makeEntry("b"), [4])
        #expect(try await store.contents.entries == 4)
        #expect(try await store.contents.evictions == 1)
    }

    @Test("an unused entry is evicted after the age limit, when an entry is stored or the store is opened")
    func age() async throws {
        let folder = try ScratchFolder()
        let clock = SteppingClock()
        var store = try await store(folder, clock, capacity: .mebibytes(1), ageLimit: .seconds(100))
        let entry = try await store.store(makeEntry("a"), pattern("a", count: 20_000))
        try await store.store(makeEntry("b"), pattern("b", count: 20_000))
        clock.advance(by: 60)
        _ = try await store.bytes(of: entry)
        clock.advance(by: 60)
        try await store.store(makeEntry("c"), [1])
        #expect(try await names(store) == ["a", "c"])
        clock.advance(by: 60)
        try await store.close()
        store = try await self.store(folder, clock, capacity: .mebibytes(1), ageLimit: .seconds(100))
        #expect(try await names(store) == ["c"])
        #expect(try await store.contents.evictions == 1)
        #expect(folder.names(in: "bodies") == [])
    }

    @Test("a store that is opened with a smaller capacity evicts at once")
    func shrinking() async throws {
        let folder = try ScratchFolder()
        let clock = SteppingClock()
        var store = try await store(folder, clock, capacity: .mebibytes(1))
        for index in 0..<10 { try await store.store(makeEntry("\(index)"), pattern("\(index)", count: 50_000)) }
        try await store.close()
        store = try await self.store(folder, clock, capacity: 160_000)
        #expect(try await names(store) == ["7", "8", "9"])
        #expect(folder.names(in: "bodies").count == 3)
    }

    @Test("the statistics include all stores on the folder, and return to zero")
    func figures() async throws {
        let folder = try ScratchFolder()
        let one = try await store(folder, SteppingClock(), capacity: .mebibytes(1))
        let other = try await store(folder, SteppingClock(), capacity: .mebibytes(1))
        var expected = 0
        for index in 0..<20 {
            let size = index * 3000
            let entry = try await [one, other][index % 2].store(makeEntry("\(index)"), pattern("\(index)", count: size))
            expected += size + entry.encoded.count + 256
        }
        #expect(
            try await one.contents == HTTPCache.Contents(entries: 20, size: ByteSize(expected), capacity: .mebibytes(1))
        )
        #expect(try await other.contents == one.contents)
        try await one.remove(.all)
        #expect(try await other.contents == HTTPCache.Contents(entries: 0, size: 0, capacity: .mebibytes(1)))
    }
}
#endif
