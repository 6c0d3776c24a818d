#if Storage
import Curlew
import CurlewTestingTraits
import Dispatch
import GRDB
import Glibc
import Testing

@testable import CurlewStorage

@Suite("The SQLite store of durable transfers", .noLeaks, .timeLimit(.minutes(1)))
struct SQLiteTransferStoreTests {
    private let folder: ScratchFolder
    private let time = StoreTime()

    init() throws { folder = try ScratchFolder() }

    private func open() async throws -> SQLiteTransferStore {
        try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: "q", clock: time.clock)
    }

    private let first = TransferWorkerID("first")

    @Test(
        "two stores of one process, and a second process, see one queue",
        .enabled(if: access("/usr/bin/python3", X_OK) == 0))
    func oneProcess() async throws {
        let store = try await open()
        let other = try await open()
        try await store.enqueue([newTransfer()])
        // SQLite in another process checks the locks of this process before it considers itself the last user.
        let path = folder.file("queue/q.queue")
        let command = """
            import sqlite3
            database = sqlite3.connect('\(path)')
            print(database.execute('SELECT count(*) FROM transfer').fetchone()[0])
            database.close()
            """
        #expect(try await output(of: ["/usr/bin/python3", "-c", command]) == "1\n")
        try await other.enqueue([newTransfer()])
        #expect(try await store.counts() == [.waiting: 2])
        #expect(folder.names(in: "queue").contains("q.queue-wal"), "its log is still in use")
        #expect(try await output(of: ["/usr/bin/python3", "-c", command]) == "2\n")
        try await other.close()
        try await store.close()
    }

    @Test("a queue of an older version is migrated with all its transfers")
    func migration() async throws {
        try await open().close()
        let path = folder.file("queue/q.queue")
        for name in folder.names(in: "queue") { unlinkFile(folder.file("queue/\(name)")) }
        let database = try DatabaseQueue(path: path)
        let id = DurableTransfer.ID()
        try await database.write { database in
            try database.execute(sql: TransferSchema.schema.migrations[0])
            try database.execute(
                sql: """
                    PRAGMA application_id = \(TransferSchema.schema.application); PRAGMA user_version = 1;
                    INSERT INTO transfer (id, state, place, host, tags, enqueued, is_ready, due, since, repeatable, fence, worker, boot, lease, request)
                    VALUES ('\(id)', 1, 5, 'a.test', '', 5, 0, 0, 0, 1, 7, 'gone', 'one', 0, x'7B7D')
                    """)
        }
        try database.close()
        let store = try await open()
        #expect(store.movedAside == nil)
        let claims = try await store.claim(first, policy: claimPolicy(), atMost: 5)
        #expect(claims.map(\.key) == [TransferClaim.Key(id: id, fence: 8)])
        #expect(claims.first?.transfer.request == Array("{}".utf8))
        try await store.close()
        _ = try await open().close()
    }

    @Test("a damaged queue is moved aside, and one of a newer version or another program is refused")
    func unusable() async throws {
        try await open().close()
        let path = folder.file("queue/q.queue")
        let database = try DatabaseQueue(path: path)
        try await database.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        var error = await curlewError { _ = try await open() }
        #expect(error?.code == .queueFailed && error?.message.contains("99") == true)
        try await database.write { try $0.execute(sql: "PRAGMA user_version = 1; PRAGMA application_id = 5") }
        error = await curlewError { _ = try await open() }
        #expect(error?.code == .queueFailed && error?.message.contains("another program") == true)
        try database.close()
        for end in ["-wal", "-shm"] { unlinkFile(path + end) }
        try folder.write("queue/q.queue", Array("this is no database at all, and rather long for that".utf8))
        error = await curlewError { _ = try await open() }
        #expect(error?.code == .queueFailed && error?.message.contains("another program") == true)
        try folder.write("queue/q.queue", Array("SQLite format 3\0and then nothing that it should be".utf8))
        let store = try await open()
        let aside = try #require(store.movedAside)
        #expect(folder.names(in: "queue").contains { aside.hasSuffix($0) })
        try await store.enqueue([newTransfer()])
        #expect(try await store.counts() == [.waiting: 1])
        try await store.close()
    }

    @Test("two queues in one folder are independent")
    func twoQueues() async throws {
        let store = try await open()
        let other = try await SQLiteTransferStore.open(
            folder: folder.file("queue"), identifier: "other", clock: time.clock)
        try await store.enqueue([newTransfer()])
        #expect(try await other.counts().isEmpty)
        try await store.close()
        try await other.close()
        for name in ["", ".hidden", "a/b", "ä"] {
            let error = await curlewError {
                _ = try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: name)
            }
            #expect(error?.code == .invalidRequest)
        }
    }
}

/// The output of a program.
private func output(of arguments: [String]) async throws -> String {
    let folder = try ScratchFolder()
    let command = arguments.map {
        "'\($0.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
    let status = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(returning: system("\(command.joined(separator: " ")) > \(folder.file("output"))"))
        }
    }
    #expect(status == 0)
    return String(decoding: try folder.bytes("output"), as: UTF8.self)
}

private func unlinkFile(_ path: String) { _ = Glibc.unlink(path) }
#endif
