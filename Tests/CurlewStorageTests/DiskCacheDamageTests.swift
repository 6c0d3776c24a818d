#if Storage
import Curlew
import CurlewStorage
import CurlewTesting
import CurlewTestingTraits
import GRDB
import Glibc
import HTTPTypes
import Testing

@Suite("Damage to a cache on the disk", .noLeaks, .timeLimit(.minutes(1)))
struct DiskCacheDamageTests {
    private static let large = pattern("large", count: 100 << 10)

    /// Changes the index without the store's knowledge.
    private func tamper(_ folder: ScratchFolder, _ sql: String) throws {
        let queue = try DatabaseQueue(path: folder.file("index-1.sqlite"))
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Creates a store with a small and a large entry, and closes it.
    private func prepare(_ folder: ScratchFolder) async throws -> (small: HTTPCache.Entry, large: HTTPCache.Entry) {
        let store = try await DiskCacheStore(folder: folder.path)
        let small = try await store.store(makeEntry("small"), pattern("small", count: 100))
        let large = try await store.store(makeEntry("large"), Self.large)
        try await store.close()
        return (small, large)
    }

    private func expectUsable(_ store: DiskCacheStore) async throws {
        let entry = try await store.store(makeEntry("new"), Self.large)
        #expect(try await store.entries("new") == [entry])
        #expect(try await store.bytes(of: entry) == Self.large)
    }

    enum Spoiling: String, CaseIterable, CustomTestStringConvertible {
        case newerSchema = "a newer schema"
        case negativeSchema = "a schema of no version"
        case otherProgram = "another program's database"
        case otherTables = "other tables"
        case noDatabase = "no database"
        case beginning = "a damaged beginning"
        case folder = "a folder"
        case link = "a link"

        var testDescription: String { rawValue }
    }

    private func spoil(_ folder: ScratchFolder, _ spoiling: Spoiling) throws {
        let path = folder.file("index-1.sqlite")
        switch spoiling {
        case .newerSchema: try tamper(folder, "PRAGMA user_version = 99")
        case .negativeSchema: try tamper(folder, "PRAGMA user_version = -1")
        case .otherProgram: try tamper(folder, "PRAGMA application_id = 7")
        case .otherTables: try tamper(folder, "ALTER TABLE entry RENAME TO entries")
        case .noDatabase: try folder.write("index-1.sqlite", pattern("no", count: 10_000))
        case .beginning:
            var bytes = try folder.bytes("index-1.sqlite")
            bytes.replaceSubrange(100..<4096, with: pattern("no", count: 3996))
            try folder.write("index-1.sqlite", bytes)
        case .folder:
            unlink(path)
            mkdir(path, 0o700)
        case .link:
            unlink(path)
            symlink("/etc/passwd", path)
        }
    }

    @Test("an invalid index is discarded, reported once, and replaced", arguments: Spoiling.allCases)
    func unusableIndex(_ spoiling: Spoiling) async throws {
        let folder = try ScratchFolder()
        _ = try await prepare(folder)
        try spoil(folder, spoiling)
        let reports = Reports()
        for _ in 0..<2 {
            let store = try await reports.makeStore(folder.path)
            #expect(reports.kinds.count { $0 == .indexDiscarded } == 1)
            #expect(try await store.entries("small") == [])
            #expect(try await store.entries("large") == [])
            try await expectUsable(store)
            try await store.remove(.all)
            #expect(folder.names(in: "bodies") == [])
            try await store.close()
        }
        #expect(reports.kinds == [.indexDiscarded, .leftoversRemoved])
        #expect(folder.names().count { $0.hasSuffix(".sqlite") } <= 2)
    }

    @Test("an index that is damaged while it is open is replaced, and the call succeeds")
    func damagedWhileOpen() async throws {
        let folder = try ScratchFolder()
        let reports = Reports()
        let store = try await reports.makeStore(folder.path)
        let entry = try await store.store(makeEntry("a"), Self.large)
        try tamper(folder, "DROP TABLE total")
        let newer = try await store.store(makeEntry("b"), Self.large)
        #expect(reports.kinds == [.indexDiscarded, .leftoversRemoved])
        #expect(try await store.entries("b") == [newer])
        #expect(try await store.bytes(of: newer) == Self.large)
        #expect(try await store.body(of: entry, range: 0..<1) == nil)
        let other = try await reports.makeStore(folder.path)
        #expect(try await other.entries("b") == [newer])
        #expect(reports.kinds.count == 2)
    }

    @Test("two stores with the same damaged index end with one new index, which both use")
    func damagedForTwo() async throws {
        let folder = try ScratchFolder()
        let reports = Reports()
        let one = try await reports.makeStore(folder.path)
        let other = try await reports.makeStore(folder.path)
        try tamper(folder, "DROP TABLE entry")
        let entry = try await one.store(makeEntry("a"), Self.large)
        #expect(try await other.entries("a") == [entry])
        #expect(try await other.bytes(of: entry) == Self.large)
        #expect(reports.kinds == [.indexDiscarded])
    }

    @Test(
        "an entry whose fields are damaged is discarded and reported once",
        arguments: [
            "metadata = x'00'", "metadata = zeroblob(400)", "metadata = substr(metadata, 1, length(metadata) - 1)",
            "metadata = CAST(metadata || x'00' AS BLOB)", "body_size = 7",
        ])
    func damagedFields(_ change: String) async throws {
        let folder = try ScratchFolder()
        let entries = try await prepare(folder)
        let reports = Reports()
        let store = try await reports.makeStore(folder.path)
        try tamper(folder, "UPDATE entry SET \(change) WHERE id = '\(entries.small.id)'")
        #expect(try await store.entries("small") == [])
        #expect(try await store.entries("small") == [])
        #expect(reports.kinds == [.entryDiscarded])
        #expect(try await store.bytes(of: entries.small) == nil)
        try tamper(folder, "UPDATE entry SET \(change)")
        #expect(try await store.list(after: nil, count: 10) == [])
        #expect(reports.kinds == [.entryDiscarded, .entryDiscarded])
        #expect(try await store.contents.entries == 0)
        #expect(folder.names(in: "bodies") == [])
    }

    @Test("an entry stored under a wrong key is discarded")
    func otherKey() async throws {
        let folder = try ScratchFolder()
        _ = try await prepare(folder)
        let reports = Reports()
        let store = try await reports.makeStore(folder.path)
        try tamper(folder, "UPDATE entry SET uri = 'http://example.com/small' WHERE uri LIKE '%large'")
        #expect(try await store.entries("small").count == 1)
        #expect(reports.kinds == [.entryDiscarded])
    }

    @Test("a small body that is damaged is discarded and reported once", arguments: [true, false])
    func damagedSmallBody(isLookedUp: Bool) async throws {
        let folder = try ScratchFolder()
        let entries = try await prepare(folder)
        let reports = Reports()
        let store = try await reports.makeStore(folder.path)
        try tamper(folder, "UPDATE entry SET body = zeroblob(100) WHERE id = '\(entries.small.id)'")
        if isLookedUp { #expect(try await store.entries("small") == []) }
        #expect(try await store.bytes(of: entries.small) == nil)
        #expect(try await store.bytes(of: entries.small) == nil)
        #expect(reports.kinds == [.entryDiscarded])
        #expect(try await store.contents.entries == 1)
    }

    @Test(
        "a body file of the wrong length is discarded and reported once",
        arguments: [0, 1, 100 << 10 - 1, 200 << 10])
    func otherLength(_ size: Int) async throws {
        let folder = try ScratchFolder()
        let entries = try await prepare(folder)
        #expect(truncate(folder.file("bodies/\(entries.large.id)"), off_t(size)) == 0)
        let reports = Reports()
        let store = try await reports.makeStore(folder.path)
        #expect(try await store.entries("large") == [entries.large])
        #expect(try await store.bytes(of: entries.large) == nil)
        #expect(try await store.bytes(of: entries.large) == nil)
        #expect(reports.kinds == [.entryDiscarded])
        #expect(try await store.entries("large") == [])
        #expect(folder.names(in: "bodies") == [])
    }

    @Test("a body that was written before the last boot is compared with its checksum, once")
    func otherBoot() async throws {
        let folder = try ScratchFolder()
        let entries = try await prepare(folder)
        try tamper(folder, "UPDATE entry SET boot = 1")
        let reports = Reports()
        var store = try await reports.makeStore(folder.path)
        #expect(try await store.entries("large") == [entries.large])
        #expect(try await store.bytes(of: entries.large) == Self.large)
        try await store.close()
        let queue = try DatabaseQueue(path: folder.file("index-1.sqlite"))
        let boot = try await queue.read {
            try Int.fetchOne($0, sql: "SELECT boot FROM entry WHERE id = '\(entries.large.id)'")
        }
        try queue.close()
        #expect(boot != 1)

        try tamper(folder, "UPDATE entry SET boot = 1")
        var bytes = Self.large
        bytes[50_000] ^= 1
        try folder.write("bodies/\(entries.large.id)", bytes)
        store = try await reports.makeStore(folder.path)
        #expect(try await store.entries("large") == [entries.large])
        #expect(try await store.bytes(of: entries.large) == nil)
        #expect(reports.kinds == [.entryDiscarded])
        #expect(try await store.entries("large") == [])
    }

    @Test("a missing body file is noticed when the store is opened, or when the body is read")
    func missingFile() async throws {
        for isOpen in [false, true] {
            let folder = try ScratchFolder()
            let entries = try await prepare(folder)
            let reports = Reports()
            let open = isOpen ? try await reports.makeStore(folder.path) : nil
            unlink(folder.file("bodies/\(entries.large.id)"))
            var store = open
            if store == nil { store = try await reports.makeStore(folder.path) }
            #expect(try await store?.bytes(of: entries.large) == nil)
            #expect(reports.kinds == [.entryDiscarded])
            #expect(try await store?.entries("large") == [])
            #expect(try await store?.entries("small") == [entries.small])
            #expect(try await store?.contents.entries == 1)
        }
    }

    @Test("a symbolic link in the place of a body is not followed")
    func linkedBody() async throws {
        let folder = try ScratchFolder()
        let entries = try await prepare(folder)
        try folder.write("other", Self.large)
        let path = folder.file("bodies/\(entries.large.id)")
        unlink(path)
        symlink(folder.file("other"), path)
        let reports = Reports()
        let store = try await reports.makeStore(folder.path)
        #expect(try await store.bytes(of: entries.large) == nil)
        #expect(reports.kinds == [.entryDiscarded])
    }

    @Test("orphaned files are removed when the store is opened, and those of living writers stay")
    func leftovers() async throws {
        let folder = try ScratchFolder()
        let entries = try await prepare(folder)
        let reports = Reports()
        let living = try await reports.makeStore(folder.path)
        let entry = try makeEntry("living")
        let writer = try await living.write(entry)
        try await writer.append(Self.large)
        for name in ["\(try makeEntry().id)", "\(try makeEntry().id).part", "x"] {
            try folder.write("bodies/\(name)", [1])
        }
        let store = try await reports.makeStore(folder.path)
        #expect(folder.names(in: "bodies") == ["\(entries.large.id)", "\(entry.id).part"].sorted())
        #expect(reports.kinds == [.leftoversRemoved] && reports.messages.first?.contains("3 files") == true)
        try await writer.commit(entry.updating(bodySize: Int64(Self.large.count)), replacing: [])
        #expect(try await store.entries("living").count == 1)
        #expect(try await store.bytes(of: entries.large) == Self.large)
    }

    @Test("a database that another process has locked fails a call within the time limit")
    func locked() async throws {
        let folder = try ScratchFolder()
        let store = try await Reports().makeStore(folder.path, patience: .seconds(1))
        let entry = try await store.store(makeEntry(), [1])
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file("index-1.sqlite"), configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let start = ContinuousClock.now
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let error = await curlewError { try await store.store(makeEntry("b"), [2]) }
                    #expect(error?.code == .cacheFailed && error?.message.contains("locked") == true)
                }
            }
        }
        // Calls that wait one after another would take eight seconds.
        #expect(start.duration(to: .now) < .seconds(6), "eight calls wait at the same time")
        #expect(try await store.entries("a") == [entry], "reading goes on")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try other.close()
        try await store.store(makeEntry("b"), [2])
        #expect(try await store.contents.entries == 2)
    }
}
#endif
