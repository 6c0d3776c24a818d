#if Storage
import Curlew
import CurlewStorage
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("A cache on the disk", .noLeaks, .timeLimit(.minutes(1)))
struct DiskCacheStoreTests {
    @Test(
        "a body of any size is read as it was stored",
        arguments: [0, 1, 8 << 10, 8 << 10 + 1, 64 << 10, 100 << 10, 256 << 10, 256 << 10 + 1, 1 << 20 + 3])
    func roundTrip(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path, entryLimit: .mebibytes(2))
        let bytes = pattern("\(size)", count: size)
        for pieces in [1, 7] {
            let entry = try makeEntry("\(pieces)", fields: [.contentType: "text/plain"])
            let stored = try await store.store(entry, bytes, pieces: pieces)
            let found = try await store.entries("\(pieces)")
            #expect(found == [stored])
            #expect(try await store.bytes(of: stored) == bytes)
            #expect(try await store.bytes(of: stored) == bytes, "once more")
        }
        #expect(folder.names(in: "bodies").count == (size > 8 << 10 ? 2 : 0))
    }

    @Test("ranges of a body have the requested bytes", arguments: [1000, 100 << 10, 1 << 20])
    func ranges(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let bytes = pattern("ranges", count: size)
        let entry = try await store.store(makeEntry(), bytes)
        for isFound in [false, true] {
            if isFound { _ = try await store.entries("a") }
            for range in [0..<1, 0..<0, 17..<size, size / 2..<size / 2 + 100, size..<size, 0..<size] {
                let part = try await store.bytes(of: entry, range: Int64(range.lowerBound)..<Int64(range.upperBound))
                #expect(part == Array(bytes[range]))
            }
        }
        let error = await curlewError { _ = try await store.body(of: entry, range: 0..<Int64(size + 1)) }
        #expect(error?.code == .cacheFailed)
    }

    @Test("an entry is found only under its URI and partition")
    func keys() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let entries = [
            try await store.store(makeEntry("a"), [1]), try await store.store(makeEntry("a", partition: ""), [2]),
            try await store.store(makeEntry("a", partition: "x"), [3]), try await store.store(makeEntry("b"), [4]),
        ]
        for entry in entries { #expect(try await store.entries(for: entry.key) == [entry]) }
        #expect(try await store.entries("c") == [])
    }

    @Test("the most recently used entry is listed first")
    func order() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let first = try await store.store(makeEntry(), [1])
        let second = try await store.store(makeEntry(), [2])
        #expect(try await store.entries("a") == [second, first])
        _ = try await store.bytes(of: first)
        #expect(try await store.entries("a") == [first, second])
        try await store.close()
        let reopened = try await DiskCacheStore(folder: folder.path)
        #expect(try await reopened.entries("a") == [first, second])
    }

    @Test("an entry is invisible before its commit", arguments: [10, 300_000])
    func uncommitted(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let writer = try await store.write(makeEntry())
        try await writer.append(pattern("", count: size))
        #expect(try await store.entries("a") == [])
        #expect(try await store.contents.entries == 0)
        await writer.discard()
        #expect(folder.names(in: "bodies") == [])
        let error = await curlewError { try await writer.append([1]) }
        #expect(error?.code == .cacheFailed)
    }

    @Test("a dropped writer leaves no file")
    func droppedWriter() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        do {
            let writer = try await store.write(makeEntry())
            try await writer.append(pattern("", count: 300_000))
            #expect(folder.names(in: "bodies").count == 1)
        }
        try await eventually("the file is gone") { folder.names(in: "bodies") == [] }
        #expect(try await store.contents.entries == 0)
    }

    @Test("an entry with a size other than its body's is refused and leaves no file", arguments: [10, 300_000])
    func wrongSize(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        for difference in [-1, 1] {
            let entry = try makeEntry()
            let writer = try await store.write(entry)
            try await writer.append(pattern("", count: size))
            let error = await curlewError {
                try await writer.commit(entry.updating(bodySize: Int64(size + difference)), replacing: [])
            }
            #expect(error?.code == .cacheFailed)
        }
        #expect(try await store.entries("a") == [])
        #expect(folder.names(in: "bodies") == [])
    }

    @Test("a body beyond the size limit is refused as soon as its size is known")
    func tooLarge() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path, capacity: .mebibytes(1), entryLimit: .kibibytes(100))
        #expect(store.entryLimit == .kibibytes(100))
        #expect(await curlewError { _ = try await store.write(makeEntry(size: 100 << 10 + 1)) }?.code == .cacheFailed)
        let writer = try await store.write(makeEntry())
        try await writer.append(pattern("", count: 100 << 10))
        #expect(await curlewError { try await writer.append([1]) }?.code == .cacheFailed)
        #expect(folder.names(in: "bodies") == [])
    }

    @Test("an entry replaces others atomically, and their open bodies stay readable", arguments: [10, 1 << 20])
    func replacing(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let old = try await store.store(makeEntry(), pattern("old", count: size))
        let body = try #require(try await store.body(of: old, range: 0..<Int64(size)))
        let new = try await store.store(makeEntry(), pattern("new", count: size), replacing: [old.id])
        #expect(try await store.entries("a") == [new])
        #expect(try await body.collect(upTo: .mebibytes(2)) == pattern("old", count: size))
        #expect(try await store.body(of: old, range: 0..<Int64(size)) == nil)
        #expect(try await store.bytes(of: new) == pattern("new", count: size))
        #expect(folder.names(in: "bodies").count == (size > 10 ? 1 : 0))
    }

    @Test("the fields of an entry are updated, and its body stays", arguments: [10, 1 << 20])
    func updating(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let entry = try await store.store(makeEntry(), pattern("x", count: size))
        let before = try await store.contents.size
        let newer = entry.updating(
            head: HTTPResponse(status: .ok, headerFields: [.eTag: "\"abc\""]), responseTime: 2_000)
        #expect(try await store.update(newer))
        #expect(try await store.entries("a") == [newer])
        #expect(try await store.bytes(of: newer) == pattern("x", count: size))
        #expect(try await store.contents.size > before)
        #expect(try await !store.update(makeEntry(size: 3)), "it was never there")
        try await store.remove(.since(2_000))
        #expect(try await store.entries("a") == [])
        #expect(try await store.contents.size == 0)
    }

    @Test("entries are removed by name, URI, time, or all of them")
    func removing() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let large = pattern("large", count: 100 << 10)
        var entries: [HTTPCache.Entry] = []
        for index in 0..<6 {
            entries.append(
                try await store.store(
                    makeEntry("\(index / 2)", partition: "\(index)", responseTime: Int64(index)), large))
        }
        for entry in entries { #expect(try await store.entries(for: entry.key).count == 1) }
        try await store.remove(.entries([entries[0].id]))
        #expect(try await store.bytes(of: entries[0]) == nil)
        try await store.remove(.uris([entries[2].key.uri, "http://example.com/none"]))
        #expect(try await store.list(after: nil, count: 10).count == 3)
        try await store.remove(.since(5))
        #expect(Set(try await store.list(after: nil, count: 10)) == [entries[1], entries[4]])
        #expect(folder.names(in: "bodies").count == 2)
        try await store.remove(.all)
        #expect(try await store.contents == HTTPCache.Contents(entries: 0, size: 0, capacity: store.capacity))
        #expect(folder.names(in: "bodies") == [])
    }

    @Test("entries are listed by name, in pages")
    func listing() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        var all: [HTTPCache.Entry] = []
        for index in 0..<10 { all.append(try await store.store(makeEntry("\(index)"), [1])) }
        all.sort { $0.id.description < $1.id.description }
        var listed: [HTTPCache.Entry] = []
        while true {
            let some = try await store.list(after: listed.last?.id, count: 4)
            listed += some
            if some.count < 4 { break }
        }
        #expect(listed == all)
    }

    @Test("committed entries are present when the folder is opened again", arguments: [10, 1 << 20])
    func reopening(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let reports = Reports()
        var store = try await reports.makeStore(folder.file("deep/er"))
        let entry = try await store.store(makeEntry(), pattern("x", count: size))
        let contents = try await store.contents
        for isClosed in [true, false] {
            if isClosed { try await store.close() }
            store = try await reports.makeStore(folder.file("deep/er"))
            #expect(try await store.contents == contents)
            #expect(try await store.entries("a") == [entry])
            #expect(try await store.bytes(of: entry) == pattern("x", count: size))
        }
        #expect(reports.kinds == [])
    }

    @Test("each call on a closed store fails")
    func closed() async throws {
        let folder = try ScratchFolder()
        let store = try await DiskCacheStore(folder: folder.path)
        let entry = try await store.store(makeEntry(), [1])
        try await store.close()
        #expect(await curlewError { _ = try await store.entries("a") }?.code == .cacheFailed)
        #expect(await curlewError { _ = try await store.bytes(of: entry) }?.code == .cacheFailed)
        #expect(await curlewError { try await store.store(makeEntry(), [1]) }?.code == .cacheFailed)
    }

    @Test("stores on the same folder see each other's entries", arguments: [10, 1 << 20])
    func severalStores(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let reports = Reports()
        let one = try await reports.makeStore(folder.path)
        let other = try await reports.makeStore(folder.path)
        let entry = try await one.store(makeEntry(), pattern("1", count: size))
        #expect(try await other.entries("a") == [entry])
        #expect(try await other.bytes(of: entry) == pattern("1", count: size))
        let body = try #require(try await one.body(of: entry, range: 0..<Int64(size)))
        let newer = try await other.store(makeEntry(), pattern("2", count: size), replacing: [entry.id])
        #expect(try await one.entries("a") == [newer])
        #expect(try await body.collect(upTo: .mebibytes(2)) == pattern("1", count: size))
        #expect(try await one.contents == other.contents)
        try await one.remove(.all)
        #expect(try await other.entries("a") == [])
        #expect(try await other.contents.size == 0)
        #expect(reports.kinds == [])
    }
}
#endif
