#if TestKit && Storage && Postgres
import Curlew
import CurlewPostgres
import CurlewStorage
import CurlewTesting
import FoundationEssentials
import Glibc
import HTTPTypes
import PostgresServer
import SeededNumbers

/// Fifty kills of two workers that share a queue of twenty downloads and uploads (thirty of four, and a few of the server, where the queue
/// is in PostgreSQL), and a look at the folder after each; then both
/// come to the end. Now and then a worker stands still for longer than its lease, all is suspended, or a transfer is cancelled. Each end
/// is acknowledged by the campaign, and none comes again.
final class QueueCampaign {
    private var random: SeededNumbers
    private let folder = "/tmp/curlew-crash-queue-\(UInt64.random(in: 0...UInt64.max))"
    /// The server that the queue is in; nil where it is in a file.
    private let postgres: PostgresServer?
    private var kills: Int { postgres == nil ? 50 : 30 }
    private var workerCount: Int { postgres == nil ? 2 : 4 }
    private var longestLife: Int { postgres == nil ? 120 : 600 }
    private static let transfers = 20
    private static let size = 3 << 20
    /// All of it.
    private let deadline = ContinuousClock.now.advanced(by: .seconds(100))

    init(seed: UInt64, postgres: PostgresServer? = nil) {
        random = SeededNumbers(seed: seed ^ 0x0DD5)
        self.postgres = postgres
    }

    /// The bytes of a transfer's file.
    private static func bytes(_ number: Int) -> [UInt8] {
        if let bytes = made.withLock({ $0[number] }) { return bytes }
        var numbers = SeededNumbers(seed: UInt64(number))
        var bytes = [UInt8](repeating: 0, count: size)
        bytes.withUnsafeMutableBytes { space in
            for index in stride(from: 0, to: space.count, by: 8) {
                space.storeBytes(of: numbers.next(), toByteOffset: index, as: UInt64.self)
            }
        }
        made.withLock { $0[number] = bytes }
        return bytes
    }

    /// They take longer to make than to send.
    private static let made = Guarded<[Int: [UInt8]]>([:])

    private var database: String { postgres?.url() ?? "" }

    static func session(_ folder: String, _ database: String) async throws -> (DurableSession, HTTPSession) {
        let http = try HTTPSession(chain: .bare)
        var options = DurableSession.Options()
        options.checkpoint = .kibibytes(256)
        options.retries.backoff = Retry.Backoff(base: .milliseconds(20), maximum: .milliseconds(200))
        options.lease = .seconds(1)
        options.limits.perHost = 4
        options.limits.freeSpace = 0
        guard !database.isEmpty else {
            return (
                try await DurableSession(
                    identifier: "crash", folder: "\(folder)/queue", http: http, options: options), http
            )
        }
        var settings = PostgresSettings(database)
        settings.statementTimeout = .seconds(2)
        settings.outage = .seconds(30)
        return (
            try await DurableSession(identifier: "crash", postgres: settings, http: http, options: options), http
        )
    }

    /// What each worker does.
    static func work(_ folder: String, _ database: String) async throws {
        let (session, http) = try await patient { try await Self.session(folder, database) }
        try await session.run(untilDrained: true)
        try await session.close()
        await http.shutdown()
    }

    func run() async throws {
        guard mkdir(folder, 0o700) == 0 else { throw Finding("no folder: errno \(errno)") }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let uploads = Guarded<[String: Int]>([:])
        let server = try await MockServer.start { request in
            guard request.method == .get else {
                uploads.withLock { $0[request.path, default: 0] += 1 }
                return MockResponse(status: .created)
            }
            let number = Int(request.path.dropFirst()) ?? 0
            var content = RangedContent(Self.bytes(number), entityTag: "\"\(number)\"")
            content.throttle = .init(bytes: 128 << 10, every: .milliseconds(4))
            return content.response(to: request)
        }
        url = server.url()
        let (session, http) = try await Self.session(folder, database)
        var requests: [DurableTransfer.Request] = []
        for number in 0..<Self.transfers {
            if number.isMultiple(of: 4) {
                try Data(Self.bytes(number)).write(to: URL(filePath: "\(folder)/source-\(number)"))
                requests.append(.upload(file: "\(folder)/source-\(number)", to: server.url("/\(number)")))
            } else {
                requests.append(.download(server.url("/\(number)"), to: .file("\(folder)/file-\(number)")))
            }
        }
        try await session.enqueue(requests)
        var acknowledged: Set<DurableTransfer.ID> = []
        var workers: [ChildProcess] = []
        var killed = 0
        while killed < kills {
            guard ContinuousClock.now < deadline else { throw Finding("it took too long") }
            while workers.count < workerCount { workers.append(try ChildProcess(["queue", folder, database, ""])) }
            try await interfere(session, workers)
            let child = workers.remove(at: random.next(upTo: workerCount))
            let end = await child.end(within: .milliseconds(1 + Int(random.next() % UInt64(longestLife))))
            switch end {
            case .signal(SIGKILL): killed += 1
            case .exit(0):
                if try await Self.patient({ try await isDone(session) }) { try await session.enqueue(more()) }
            default: throw Finding("a worker ended with \(end)")
            }
            try checkFiles()
            try await acknowledge(session, &acknowledged)
        }
        _ = try await Self.patient { try await session.resume() }
        for child in workers {
            let end = await child.end(within: .seconds(60))
            guard end == .exit(0) || end == .signal(SIGKILL) else { throw Finding("a worker ended with \(end)") }
        }
        let last = try ChildProcess(["queue", folder, database, ""])
        guard await last.end(within: .seconds(60)) == .exit(0) else { throw Finding("the last worker did not end") }
        try await acknowledge(session, &acknowledged)
        try checkFiles()
        guard try await session.counts().isEmpty else {
            throw Finding("something is left: \(try await session.counts())")
        }
        let parts = Self.names(folder).filter { $0.hasSuffix(".part") }
        guard parts.isEmpty else { throw Finding("parts are left: \(parts)") }
        for number in 0..<Self.transfers where !number.isMultiple(of: 4) {
            guard access("\(folder)/file-\(number)", F_OK) == 0 else { throw Finding("file \(number) is missing") }
        }
        let sent = uploads.withLock { $0.values.reduce(0, +) }
        print("\(sent) uploads were sent for \(Self.transfers / 4)")
        print("\(stands) times a worker stood still, \(cancelled.count) transfers were cancelled")
        print(
            "\(killed) kills of \(workerCount) workers, \(restarts) of the server, \(acknowledged.count) transfers, \(server.requestCount) requests"
        )
        try await session.close()
        await http.shutdown()
        await server.shutdown()
    }

    /// The transfers that were cancelled.
    private var cancelled: Set<DurableTransfer.ID> = []
    private var stands = 0
    private var restarts = 0

    /// Does something until the server of the queue is there again.
    private static func patient<Value>(_ work: () async throws -> Value) async throws -> Value {
        let end = ContinuousClock.now.advanced(by: .seconds(20))
        while true {
            do { return try await work() } catch let error as CurlewError where error.code == .queueFailed {
                guard ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Does what users and machines do to a queue.
    private func interfere(_ session: DurableSession, _ workers: [ChildProcess]) async throws {
        if let postgres, random.next(upTo: 10) == 0 {
            postgres.kill()
            try postgres.restart()
            restarts += 1
        }
        switch random.next(upTo: 12) {
        case 0:
            // Another takes its transfers over, and then it goes on.
            workers[0].stand(still: true)
            try await Task.sleep(for: .milliseconds(1300))
            workers[0].stand(still: false)
            stands += 1
        case 1: _ = try await Self.patient { try await session.suspend() }
        case 2:
            let added = try await Self.patient { try await session.enqueue(more()) }
            try await Task.sleep(for: .milliseconds(Int(random.next() % 50)))
            if try await Self.patient({ try await session.cancel([added[0]]) }) == 1 { cancelled.insert(added[0]) }
        default: _ = try await Self.patient { try await session.resume() }
        }
    }

    private func isDone(_ session: DurableSession) async throws -> Bool {
        try await session.counts().allSatisfy { $0.key.hasEnded }
    }

    private var added = 1000
    private var url = ""

    /// More to do, so that there is something to kill.
    private func more() -> [DurableTransfer.Request] {
        added += 5
        return (added - 5..<added).map { .download("\(url)\($0)", to: .file("\(folder)/file-\($0)")) }
    }

    private func acknowledge(_ session: DurableSession, _ acknowledged: inout Set<DurableTransfer.ID>) async throws {
        let ended = try await Self.patient {
            try await session.transfers(in: [.finished, .failed, .cancelled], limit: 1000)
        }
        for transfer in ended {
            let expected: DurableTransfer.State = cancelled.contains(transfer.id) ? .cancelled : .finished
            guard transfer.state == expected else {
                throw Finding("a transfer ended as \(transfer.state): \(String(describing: transfer.lastError))")
            }
            guard acknowledged.insert(transfer.id).inserted else { throw Finding("an end came again") }
            if expected == .cancelled, let path = transfer.request.destination?.location?.path, access(path, F_OK) == 0
            {
                throw Finding("a cancelled transfer has named its file")
            }
            if case .file(let file) = transfer.outcome {
                guard access(file.path, F_OK) == 0 else { throw Finding("a finished file is missing") }
            }
            try await Self.patient { try await session.acknowledge(transfer.id) }
        }
    }

    /// Whatever has a name is whole.
    private func checkFiles() throws {
        for name in Self.names(folder) where name.hasPrefix("file-") {
            let number = Int(name.dropFirst(5)) ?? -1
            guard try Data(contentsOf: URL(filePath: "\(folder)/\(name)")) == Data(Self.bytes(number)) else {
                throw Finding("\(name) is not what it has to be")
            }
        }
    }

    private static func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
#endif
