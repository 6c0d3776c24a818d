#if Storage
import Curlew
import CurlewStorage
import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import SeededNumbers
import Testing

@Suite("A disk cache under load", .noLeaks, .timeLimit(.minutes(3)))
struct DiskCacheStressTests {
    private static let keys = 40
    private static let tasks = 64
    private static let rounds = 25

    /// Stores a body whose bytes depend only on the entry's ETag, or abandons it.
    private static func write(to store: DiskCacheStore, _ name: String, _ numbers: inout SeededNumbers) async throws {
        let text = "\(name)-\(numbers.next())"
        let size = [0, 500, 8 << 10, 30_000, 100 << 10, 300 << 10][numbers.next(upTo: 6)]
        let replaced = numbers.next(upTo: 2) == 0 ? try await store.entries(name).map(\.id) : []
        let entry = try makeEntry(name, size: size, fields: [.eTag: text])
        let writer = try await store.write(entry)
        let bytes = pattern(text, count: size)
        var position = 0
        while position < size {
            let end = min(size, position + 1 + numbers.next(upTo: 200_000))
            try await writer.append(Array(bytes[position..<end]))
            position = end
        }
        switch numbers.next(upTo: 8) {
        case 0: await writer.discard()
        case 1: break
        default: try await writer.commit(entry, replacing: replaced)
        }
    }

    /// Reads found entries, completely or partly.
    /// - Parameter seed: The seed of the test, for messages.
    /// - Returns: The number of compared bodies.
    private static func read(
        from store: DiskCacheStore, _ name: String, _ numbers: inout SeededNumbers, seed: UInt64
    ) async throws -> Int {
        var count = 0
        for entry in try await store.entries(name) {
            let text = entry.head.headerFields[.eTag] ?? ""
            #expect(text.hasPrefix("\(name)-"), "seed \(seed)")
            let start = numbers.next(upTo: Int(entry.bodySize) + 1)
            let end = start + numbers.next(upTo: Int(entry.bodySize) - start + 1)
            let range = numbers.next(upTo: 3) == 0 ? start..<end : 0..<Int(entry.bodySize)
            guard let body = try await store.body(of: entry, range: Int64(range.lowerBound)..<Int64(range.upperBound))
            else { continue }
            if numbers.next(upTo: 4) == 0 { await Task.yield() }
            let expected = pattern(text, count: Int(entry.bodySize))
            let isRight = try await body.collect(upTo: .mebibytes(1)) == Array(expected[range])
            #expect(isRight, "the bytes of \(text) are others, seed \(seed)")
            count += 1
        }
        return count
    }

    @Test("64 tasks that read, write and evict through two stores on one folder never see a wrong byte")
    func busy() async throws {
        let folder = try ScratchFolder()
        let reports = Reports()
        let seed = UInt64.random(in: 0...UInt64(UInt32.max))
        // Thirty-two calls at a time wait for each store, on a possibly slow disk, without a timeout.
        let stores = [
            try await reports.makeStore(folder.path, capacity: .mebibytes(2), patience: .seconds(60)),
            try await reports.makeStore(folder.path, capacity: .mebibytes(2), patience: .seconds(60)),
        ]
        let compared = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<Self.tasks {
                group.addTask {
                    var numbers = SeededNumbers(seed: seed &+ UInt64(task))
                    let store = stores[task % 2]
                    var count = 0
                    for _ in 0..<Self.rounds {
                        let name = "\(numbers.next(upTo: Self.keys))"
                        switch numbers.next(upTo: 20) {
                        case 0: try await store.remove(.uris(["http://example.com/\(name)"]))
                        case 1: _ = try await store.update(store.entries(name).first ?? makeEntry(size: 0))
                        case 2..<10: try await Self.write(to: store, name, &numbers)
                        default: count += try await Self.read(from: store, name, &numbers, seed: seed)
                        }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(compared > 0, "seed \(seed)")
        #expect(reports.messages == [], "seed \(seed)")
        let contents = try await stores[0].contents
        #expect(contents.size <= contents.capacity, "seed \(seed)")
        #expect(try await stores.reduce(0) { $0 + $1.evictions } > 0, "seed \(seed)")
        // Dropped uncommitted writes are removed later.
        let listed = try await stores[0].list(after: nil, count: 10_000)
        let files = Set(listed.filter { $0.bodySize > 8 << 10 }.map(\.id.description))
        try await eventually("all other files are gone, seed \(seed)") { Set(folder.names(in: "bodies")) == files }
        #expect(listed.count == contents.entries)
    }
}

extension [DiskCacheStore] {
    fileprivate func reduce(_ start: Int, _ sum: (Int, HTTPCache.Contents) -> Int) async throws -> Int {
        var result = start
        for store in self { result = sum(result, try await store.contents) }
        return result
    }
}
#endif
