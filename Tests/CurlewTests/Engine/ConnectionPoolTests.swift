import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The connection pool", .keepsToPool, .noLeaks, .timeLimit(.minutes(2)))
struct ConnectionPoolTests {
    @Test("an idle connection is closed for a host that waits for one")
    func starved() async throws {
        let gate = Gate()
        let (first, second) = (try await PoolScene.server(gate), try await PoolScene.server(gate))
        let session = try makeSession { $0.connections.total = 1 }
        async let held = session.fetch(first.url("/held"))
        try await first.waitForRequests(1)
        async let waiting = session.fetch(second.url("/a"))
        try await eventually("the second waits") {
            await session.session?.figures().tasksAwaitingConnections == 1
        }
        gate.open()
        #expect(try await held == Array("/held".utf8))
        #expect(try await waiting == Array("/a".utf8))
        try await first.waitForConnections(open: 0)
    }

    @Test("an exchange that is cancelled before libcurl has started it returns its pooled connection")
    func cancelledAtOnce() async throws {
        let server = try await PoolScene.server(Gate())
        let session = try makeSession()
        let loop = try #require(session.session).eventLoop
        #expect(try await session.fetch(server.url("/first")) == Array("/first".utf8))
        // The tasks run on the loop, so each call is cancelled in the turn in which it starts.
        await withTaskExecutorPreference(loop) {
            for number in 0..<20 {
                let call = Task(executorPreference: loop) { try await session.fetch(server.url("/\(number)")) }
                await Task.yield()
                call.cancel()
                _ = await call.result
            }
        }
        #expect(try await session.fetch(server.url("/last")) == Array("/last".utf8))
        #expect(server.connectionCounts.accepted == 1 && server.requestCount < 22)
    }

    @Test("waiting exchanges with a higher priority are served first", arguments: [true, false])
    func priorities(areAdmitted: Bool) async throws {
        let gate = Gate()
        let server = try await PoolScene.server(gate)
        let session = try makeSession {
            $0.connections.perHost = 1
            if !areAdmitted { $0.tasksInFlight = 1 }
        }
        async let held = session.fetch(server.url("/held"))
        try await server.waitForRequests(1)
        let priorities: [RequestOptions.Priority] = [.background, .normal, .critical, .low, .high]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, priority) in priorities.enumerated() {
                group.addTask {
                    var options = RequestOptions()
                    options.priority = priority
                    _ = try await session.fetch(server.url("/\(priority.rawValue)"), options: options)
                }
                try await eventually("\(index + 1) exchanges wait") {
                    guard let figures = await session.session?.figures() else { return false }
                    return (areAdmitted ? figures.tasksAwaitingConnections : figures.queuedTasks) == index + 1
                }
            }
            gate.open()
            try await group.waitForAll()
        }
        #expect(try await held == Array("/held".utf8))
        var order: [String] = []
        for _ in 0...5 { if let request = await server.takeRequest() { order.append(request.target) } }
        #expect(order == ["/held", "/4", "/3", "/2", "/1", "/0"])
    }

    /// The number of the process's descriptors that are sockets.
    private var socketCount: Int {
        let entries = (0..<4096).map { "/proc/self/fd/\($0)" }
        return entries.count { entry in
            var target = [CChar](repeating: 0, count: 16)
            return readlink(entry, &target, 15) > 6
                && String(decoding: target.prefix(7).map(UInt8.init), as: UTF8.self) == "socket:"
        }
    }

    @Test(
        "connections beyond the idle limit are closed even if the session is never idle",
        arguments: [false, true])
    func descriptors(usesTLS: Bool) async throws {
        let gate = Gate()
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        if usesTLS { configuration.tls = ServerTLS([certificate]) }
        configuration.protocols = [.http11]
        let server = try await PoolScene.server(gate, configuration)
        let session = try makeSession {
            $0.connections.idle = 1
            $0.connections.perHost = 0
            $0.security = .anchors(pem: certificate.certificatePEM)
        }
        async let held = session.fetch(server.url("/held/0"))
        try await server.waitForRequests(1)
        let before = socketCount
        for _ in 0..<3 {
            await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<80 { group.addTask { _ = try await session.fetch(server.url("/\(index)")) } }
            }
            try await server.waitForConnections { $0.open <= 2 }
            // The remaining sockets are both ends of one idle connection, and the sockets of the multi handles.
            try await eventually("the descriptors are closed") { socketCount <= before + 2 + 2 * 4 }
        }
        gate.open()
        #expect(try await held == Array("/held/0".utf8))
    }

    @Test("the connect timeout of one request does not end others that wait to share its connection")
    func connectTimeouts() async throws {
        let stalled = try StalledListener()
        let session = try makeSession { $0.timeouts.connectionWait = .seconds(60) }
        let url = stalled.url().replacing("http:", with: "https:")
        var short = RequestOptions()
        short.connectTimeout = .milliseconds(200)
        let first = Task { [short] in try await session.fetch(url, options: short) }
        try await eventually("the first connects") { await session.session?.figures().pendingConnections == 1 }
        let second = Task { try await session.fetch(url) }
        #expect(await curlewError { _ = try await first.value }?.code == .connectTimeout)
        second.cancel()
        let cancelled = await curlewError { _ = try await second.value }
        #expect(cancelled?.code == .cancelled)
    }

    @Test("an exchange that needs a new connection gets one even if the session's limit is used up by others")
    func newcomerAtTotal() async throws {
        let server = try await RawServer.start { connection in
            for number in 0... {
                _ = try await connection.readHead()
                // The first connection fails during its second request, and the others keep answering.
                if connection.index == 0, number == 1 { return }
                try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let session = try makeSession {
            $0.connections.total = 1
            $0.timeouts.connectionWait = .seconds(20)
        }
        _ = try await session.fetch(server.url())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<40 { _ = try await session.fetch(server.url()) }
                }
            }
            try await group.waitForAll()
        }
        // The repeated request may open a connection of its own, in addition to the connection of the waiting requests.
        #expect((2...3).contains(server.accepted))
    }

    @Test("a host that waits for a connection is served before the rest of another host's queue")
    func fairness() async throws {
        let gate = Gate()
        let (first, second) = (try await PoolScene.server(gate), try await PoolScene.server(gate))
        let session = try makeSession { $0.connections.total = 1 }
        async let held = session.fetch(first.url("/held"))
        try await first.waitForRequests(1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await session.fetch(first.url("/a")) } }
            try await session.expectWaiting(atLeast: 50)
            group.addTask {
                _ = try await session.fetch(second.url("/b"))
                #expect(first.requestCount < 10)
            }
            try await session.expectWaiting(atLeast: 51)
            gate.open()
            try await group.waitForAll()
        }
        _ = try await held
    }

    @Test("origins without connections are removed, and a limited number of TLS origins is remembered")
    func manyPlaces() throws {
        var directory = OriginDirectory()
        for (scheme, kept) in [("http", 0), ("https", 1)] {
            for number in 0..<10_000 {
                let origin = directory.origin(
                    for: try Self.prepared("\(scheme)://h\(number).test/"), scheme == "https" ? .negotiated : .exclusive
                )
                directory.forgetIfUnused(origin)
            }
            #expect(directory.all.isEmpty)
            #expect(kept == 0 ? directory.rememberedCount == 0 : (1...1000).contains(directory.rememberedCount))
        }
    }

    private static let defaults = Result { try RequestDefaults(SessionConfiguration()) }

    private static func prepared(_ url: String) throws -> PreparedRequest {
        try PreparedRequest(CurlewRequest(.get, url), defaults: defaults.get())
    }
}
