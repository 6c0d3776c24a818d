import Curlew
import CurlewStorage
import FoundationEssentials
import Glibc
import HTTPTypes
import SeededNumbers

/// The work of a program with a disk cache: several tasks that store, find, replace and remove entries, in a store that
/// is always full. The bytes of a body depend only on its entry's fields.
struct CacheUser {
    let folder: String
    let seed: UInt64
    /// The number of rounds of each task; 0 continues until the process is killed.
    let rounds: Int

    /// The number of successive calls of a task that may fail. A call fails if it finds the index locked by another
    /// process for about 250 ms, as it does now and then on a busy machine.
    private static let failuresInARow = 10
    private static let tasks = 4
    private static let keys = 60
    private static let sizes = [0, 700, 8 << 10, 20_000, 100 << 10, 400 << 10]

    static func store(
        _ folder: String, onEvent: @escaping @Sendable (DiskCacheStore.Event) -> Void = { _ in }
    ) async throws -> DiskCacheStore {
        try await DiskCacheStore(folder: folder, capacity: .mebibytes(3), entryLimit: .mebibytes(1), onEvent: onEvent)
    }

    func run() async throws {
        let store = try await Self.store(folder) { event in
            guard event.kind != .leftoversRemoved else { return }
            print("  \(event.message)")
            exit(3)
        }
        try await withThrowingTaskGroup { group in
            for task in 0..<Self.tasks {
                group.addTask { try await work(on: store, SeededNumbers(seed: seed &+ UInt64(task))) }
            }
            try await group.waitForAll()
        }
        try await store.close()
    }

    private func work(on store: DiskCacheStore, _ numbers: SeededNumbers) async throws {
        var numbers = numbers
        var round = 0
        var failures = 0
        while rounds == 0 || round < rounds {
            round += 1
            do {
                try await useOnce(store, &numbers)
                failures = 0
            } catch let error as CurlewError where error.code == .cacheFailed && failures < Self.failuresInARow {
                failures += 1
            }
        }
    }

    private func useOnce(_ store: DiskCacheStore, _ numbers: inout SeededNumbers) async throws {
        let uri = "http://example.com/\(numbers.next(upTo: Self.keys))"
        switch numbers.next(upTo: 10) {
        case 0: try await store.remove(.uris([uri]))
        case 1..<6: try await write(to: store, uri, &numbers)
        default:
            for entry in try await store.entries(for: .init(uri: uri))
            where try await Self.isRight(entry, in: store) == false {
                throw Finding("a wrong body of \(uri)")
            }
        }
    }

    private func write(to store: DiskCacheStore, _ uri: String, _ numbers: inout SeededNumbers) async throws {
        let size = Self.sizes[numbers.next(upTo: Self.sizes.count)]
        let replaced = try await store.entries(for: .init(uri: uri)).map(\.id)
        var random = SystemRandomNumberGenerator()
        let digits = (0..<32).map { _ in "0123456789abcdef".randomElement(using: &random) ?? "0" }
        guard let id = HTTPCache.Entry.ID(String(digits)) else { throw Finding("no name") }
        let head = HTTPResponse(status: .ok, headerFields: [.eTag: String(numbers.next())])
        let entry = HTTPCache.Entry(
            id: id, key: .init(uri: uri), uri: uri, head: head, requestTime: 1, responseTime: 2, bodySize: Int64(size))
        let bytes = Self.body(of: entry)
        let writer = try await store.write(entry)
        var position = 0
        while position < size {
            let end = min(size, position + 1 + numbers.next(upTo: 100_000))
            try await writer.append(Array(bytes[position..<end]))
            position = end
        }
        if numbers.next(upTo: 10) > 0 { try await writer.commit(entry, replacing: replaced) }
    }

    /// The expected bytes of an entry's body.
    private static func body(of entry: HTTPCache.Entry) -> [UInt8] {
        var seed: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in (entry.uri + (entry.head.headerFields[.eTag] ?? "")).utf8 {
            seed = (seed ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        var numbers = SeededNumbers(seed: seed)
        var bytes = [UInt8](repeating: 0, count: Int(entry.bodySize) / 8 * 8 + 8)
        bytes.withUnsafeMutableBytes { space in
            for index in stride(from: 0, to: space.count, by: 8) {
                space.storeBytes(of: numbers.next(), toByteOffset: index, as: UInt64.self)
            }
        }
        return Array(bytes.prefix(Int(entry.bodySize)))
    }

    /// Compares an entry's body.
    /// - Returns: nil if the entry is gone.
    static func isRight(_ entry: HTTPCache.Entry, in store: DiskCacheStore) async throws -> Bool? {
        guard let body = try await store.body(of: entry, range: 0..<entry.bodySize) else { return nil }
        return try await body.collect(upTo: .mebibytes(1)) == Self.body(of: entry)
    }

    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    static func remove(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }
}
