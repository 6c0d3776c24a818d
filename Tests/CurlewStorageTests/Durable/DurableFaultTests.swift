#if Storage
import Curlew
import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import GRDB
import Glibc
import HTTPTypes
import Testing

@testable import CurlewStorage

@Suite("Faults around a queue of durable transfers", .noLeaks, .timeLimit(.minutes(1)))
struct DurableFaultTests {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private func session(
        in path: String? = nil, _ options: DurableSession.Options = quickOptions()
    ) async throws -> (DurableSession, HTTPSession) {
        let http = try HTTPSession(chain: .bare)
        let session = try await DurableSession(
            identifier: "q", folder: path ?? folder.file("queue"), http: http, options: options)
        return (session, http)
    }

    @Test(
        "a full disk refuses a transfer, and accepts it when there is room again",
        .enabled(if: TemporaryDisk.isPermitted))
    func fullDisk() async throws {
        let disk = try TemporaryDisk(size: 1 << 20)
        let (session, http) = try await session(in: disk.folder.file("queue"))
        var request = DurableTransfer.Request.download("http://a.test/", to: .file("/nowhere/file"))
        request.fields[.userAgent] = String(repeating: "x", count: 60_000)
        var count = 0
        var error: CurlewError?
        while error == nil, count < 100 {
            do { try await session.enqueue(request) } catch let refusal as CurlewError { error = refusal }
            count += 1
        }
        #expect(error?.code == .diskFull)
        #expect(try await session.counts() == [.waiting: count - 1])
        try await session.close()
        let (again, _) = try await self.session(in: disk.folder.file("queue"))
        #expect(try await again.counts() == [.waiting: count - 1], "what was refused is not there, and the rest is")
        try await again.close()
        await http.shutdown()
    }

    @Test("a queue on a read-only disk cannot be opened", .enabled(if: TemporaryDisk.isPermitted))
    func readOnlyDisk() async throws {
        let disk = try TemporaryDisk(size: 4 << 20)
        let (session, http) = try await session(in: disk.folder.file("queue"))
        let request = DurableTransfer.Request.download("http://a.test/", to: .file("/nowhere/file"))
        try await session.enqueue(request)
        try await session.close()
        disk.makeReadOnly()
        let error = await curlewError { _ = try await self.session(in: disk.folder.file("queue")) }
        #expect(error?.code == .queueFailed)
        await http.shutdown()
    }

    @Test("a worker fails after a lease if its queue stays locked, and no transfer is lost")
    func locked() async throws {
        var options = quickOptions()
        options.lease = .seconds(1)
        let http = try HTTPSession(chain: .bare)
        let store = try await SQLiteTransferStore.open(
            folder: folder.file("queue"), identifier: "q", patience: .milliseconds(100))
        let session = DurableSession(store: store, http: http, options: options)
        let id = try await session.enqueue(.download("http://a.test/", to: .file(folder.file("file"))))
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file("queue/q.queue"), configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let error = await curlewError { try await session.run() }
        #expect(error?.code == .queueFailed && error?.message.contains("locked") == true)
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try other.close()
        #expect(try await session.transfer(id)?.state == .waiting)
        try await session.close()
        await http.shutdown()
    }

    @Test("a truncated queue is moved aside, and its files stay", arguments: [0, 100, 4096, 5000])
    func truncated(size: Int) async throws {
        var (session, http) = try await session()
        for number in 0..<50 {
            try await session.enqueue(.download("http://a.test/\(number)", to: .file(folder.file("\(number)"))))
        }
        try await session.close()
        await http.shutdown()
        try folder.write("other", Array("stays".utf8))
        #expect(truncate(folder.file("queue/q.queue"), size) == 0)
        (session, http) = try await self.session()
        // An empty file is an unused queue.
        #expect((session.damagedQueue != nil) == (size > 0))
        #expect(try await session.counts().isEmpty)
        try await session.enqueue(.download("http://a.test/", to: .file(folder.file("file"))))
        #expect(try await session.counts() == [.waiting: 1])
        #expect(try folder.bytes("other") == Array("stays".utf8))
        try await session.close()
        await http.shutdown()
    }

    @Test("a clock that is set back by a day delays no transfer")
    func clock() async throws {
        let count = RequestCount()
        let server = try await MockServer.start { _ in
            count.next() < 2 ? MockResponse(status: .serviceUnavailable) : MockResponse(body: "good")
        }
        let time = StoreTime()
        let store = try await SQLiteTransferStore.open(folder: folder.file("queue"), identifier: "q", clock: time.clock)
        let http = try HTTPSession(chain: .bare)
        var options = quickOptions()
        options.retries.backoff = Retry.Backoff(base: .seconds(3600), maximum: .seconds(3600))
        let session = DurableSession(store: store, http: http, options: options)
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("file"))))
        let run = Task { try await session.run(untilDrained: true) }
        for failures in 1...2 {
            try await eventually("an attempt has failed") {
                try await session.transfer(id).map { $0.failures == failures && $0.state == .waiting } ?? false
            }
            time.advance(wall: -86_400_000)
            // A change of the queue wakes the worker, which then reads the clock.
            try await session.suspend([DurableTransfer.ID()])
            try await session.enqueue(later(time))
        }
        try await eventually("it has ended") { try await session.transfer(id)?.state == .finished }
        run.cancel()
        _ = await run.result
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    /// A transfer for the next year.
    private func later(_ time: StoreTime) -> DurableTransfer.Request {
        var request = DurableTransfer.Request.download("http://a.test/", to: .file(folder.file("later")))
        request.notBefore = Date(milliseconds: time.clock.now().wall + 365 * 86_400_000)
        return request
    }

    @Test("a transfer fails if its destination folder or its source is missing, or its source was truncated")
    func goneFiles() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "good") }
        try FileManager.default.createDirectory(atPath: folder.file("there"), withIntermediateDirectories: false)
        try folder.write("gone", pattern("a", count: 1000))
        try folder.write("cut", pattern("b", count: 1000))
        let (session, http) = try await session()
        try await session.enqueue(.download(server.url(), to: .file(folder.file("there/file"))))
        try await session.enqueue(.upload(file: folder.file("gone"), to: server.url()))
        try await session.enqueue(.upload(file: folder.file("cut"), to: server.url()))
        rmdir(folder.file("there"))
        unlink(folder.file("gone"))
        truncate(folder.file("cut"), 10)
        let ended = try await session.drain()
        #expect(ended.count == 3 && ended.allSatisfy { $0.state == .failed })
        let codes = Set(ended.compactMap(\.failure?.code))
        #expect(codes == [.fileFailed, .bodyFailed, .bodyLengthMismatch], "\(ended.map(\.outcome))")
        #expect(folder.names() == ["cut", "queue"])
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a secret provider that always fails uses up the attempts, and no request is sent")
    func provider() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "good") }
        struct Vault: Error {}
        var options = quickOptions()
        options.authorization = { _ in throw Vault() }
        let (session, http) = try await session(options)
        var request = DurableTransfer.Request.download(server.url(), to: .file(folder.file("file")))
        request.attempts = 4
        try await session.enqueue(request)
        let ended = try await session.drain()
        #expect(ended.first?.state == .failed && ended.first?.failures == 3)
        #expect(ended.first?.failure?.message.contains("authorization") == true)
        #expect(server.requestCount == 0)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a token of another file is rejected, and the right file is downloaded")
    func foreignToken() async throws {
        let bytes = pattern("a", count: 300_000)
        let content = RangedContent(bytes, entityTag: "\"a\"")
        let other = RangedContent(pattern("b", count: 300_000), entityTag: "\"b\"")
        var slow = other
        slow.throttle = .init(bytes: 32 << 10, every: .milliseconds(100))
        let halting = slow
        let server = try await MockServer.start {
            $0.path == "/other" ? halting.response(to: $0) : content.response(to: $0)
        }
        let (session, http) = try await session()
        let foreign = try await session.enqueue(.download(server.url("/other"), to: .file(folder.file("other"))))
        let run = Task { try await session.run() }
        try await eventually("some has come") { try await session.transfer(foreign)?.transferred ?? 0 > 100_000 }
        run.cancel()
        _ = await run.result
        let id = try await session.enqueue(.download(server.url("/file"), to: .file(folder.file("file"))))
        let database = try DatabaseQueue(path: folder.file("queue/q.queue"))
        try await database.write { database in
            try database.execute(
                sql: "UPDATE transfer SET token = (SELECT token FROM transfer WHERE id = ?) WHERE id = ?",
                arguments: [foreign.description, id.description])
        }
        try database.close()
        let ended = try await session.drain()
        #expect(try await session.transfer(id)?.state == .finished, "\(ended.map(\.outcome))")
        #expect(try folder.bytes("file") == bytes)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("two sessions with different identifiers in one folder run only their own transfers")
    func twoIdentifiers() async throws {
        let server = try await MockServer.start { MockResponse(body: .bytes(Array($0.path.utf8))) }
        let http = try HTTPSession(chain: .bare)
        var sessions: [DurableSession] = []
        for name in ["one", "two"] {
            let session = try await DurableSession(
                identifier: name, folder: folder.file("queue"), http: http, options: quickOptions())
            try await session.enqueue(.download(server.url("/\(name)"), to: .file(folder.file(name))))
            sessions.append(session)
        }
        #expect(try await sessions[0].drain().map(\.file?.path) == [folder.file("one")])
        #expect(server.requestCount == 1)
        #expect(try await sessions[1].counts() == [.waiting: 1])
        #expect(try await sessions[1].drain().map(\.file?.path) == [folder.file("two")])
        for session in sessions { try await session.close() }
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a running transfer is stopped at the end of its time window, and resumes in the next window")
    func windows() async throws {
        var content = RangedContent(pattern("w", count: 1 << 20), entityTag: "\"w\"")
        let quick = content
        content.throttle = .init(bytes: 64 << 10, every: .milliseconds(200))
        let slow = content
        let count = RequestCount()
        let server = try await MockServer.start { count.next() == 0 ? slow.response(to: $0) : quick.response(to: $0) }
        let time = Guarded(12 * 3600)
        var options = quickOptions()
        options.lease = .seconds(3)
        options.now = { time.withLock { $0 } }
        // The time is noon in any time zone: the time of day comes from the machine's own clock.
        var seconds = 12 * 3600
        var local = tm()
        localtime_r(&seconds, &local)
        let minute = Int(local.tm_hour) * 60 + Int(local.tm_min)
        options.windows = [.init(start: minute, end: minute + 1)]
        let (session, http) = try await session(options)
        let id = try await session.enqueue(.download(server.url(), to: .file(folder.file("file"))))
        let run = Task { try await session.run(untilDrained: true) }
        try await eventually("some has come") { try await session.transfer(id)?.transferred ?? 0 > 100_000 }
        time.withLock { $0 += 3600 }
        try await eventually("it is stopped") { try await session.transfer(id)?.state == .waiting }
        time.withLock { $0 += 23 * 3600 }
        _ = await run.result
        #expect(try await session.transfer(id)?.state == .finished)
        _ = await server.takeRequest()
        #expect(await server.takeRequest()?.fields[.range] != nil)
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    @Test("a listener continues after a cursor, and the updates describe a transfer from start to end")
    func cursor() async throws {
        var content = RangedContent(pattern("c", count: 400_000), entityTag: "\"c\"")
        content.throttle = .init(bytes: 64 << 10, every: .milliseconds(20))
        let slow = content
        let server = try await MockServer.start { slow.response(to: $0) }
        var options = quickOptions()
        options.limits.total = 1
        let (session, http) = try await session(options)
        let ids = try await session.enqueue(
            (0..<3).map { .download(server.url("/\($0)"), to: .file(folder.file("\($0)"))) })
        let updates = Task {
            var states: [DurableTransfer.State] = []
            var bytes: [Int64] = []
            for try await transfer in session.updates(of: ids[1], every: .milliseconds(5)) {
                if states.last != transfer.state { states.append(transfer.state) }
                bytes.append(transfer.transferred)
            }
            return (states, bytes)
        }
        let figures = Task { () -> [DurableTransfer.State: Int] in
            for try await figures in session.figures(every: .milliseconds(5)) where figures.counts[.finished] == 3 {
                return figures.counts
            }
            return [:]
        }
        let ended = try await session.drain()
        #expect(ended.map(\.id) == ids)
        let (states, bytes) = try await updates.value
        #expect(states.last == .finished && bytes == bytes.sorted() && bytes.last == 400_000)
        #expect(try await figures.value == [.finished: 3])
        var later: [DurableTransfer.ID] = []
        for try await event in session.events(after: ended[0].cursor) {
            guard case .ended(let transfer) = event else { break }
            later.append(transfer.id)
        }
        #expect(later == Array(ids[1...]))
        let cursor = try #require(ended[1].cursor)
        let copy = try JSONDecoder().decode(DurableSession.Cursor.self, from: JSONEncoder().encode(cursor))
        #expect(copy == cursor && ended[0].cursor.map { $0 < cursor } == true)
        for try await _ in session.updates(of: DurableTransfer.ID()) { Issue.record("there is none of that name") }
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }
}
#endif
