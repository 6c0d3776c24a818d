import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import Testing

@testable import Curlew

extension HTTPSession {
    /// Waits until this number of exchanges waits for a connection, including those whose connection is being opened.
    fileprivate func expectWaiting(atLeast count: Int) async throws {
        try await eventually("\(count) exchanges wait") {
            guard let figures = await self.session?.figures() else { return false }
            return figures.tasksAwaitingConnections + figures.pendingConnections >= count
        }
    }
}

@Suite("The connection pool", .keepsToPool, .noLeaks, .timeLimit(.minutes(2)))
struct ConnectionPoolTests {
    /// A server that answers `/held` when the gate opens, and other paths at once.
    private func server(
        _ gate: Gate, _ configuration: MockServer.Configuration = MockServer.Configuration()
    ) async throws -> MockServer {
        try await MockServer.start(configuration) { request in
            if request.target.hasPrefix("/held") { try await gate.wait() }
            return MockResponse(body: .string(request.target))
        }
    }

    @Test("an idle connection is closed for a host that waits for one")
    func starved() async throws {
        let gate = Gate()
        let (first, second) = (try await server(gate), try await server(gate))
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
        let server = try await server(Gate())
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
        let server = try await server(gate)
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

    @Test("a refused stream is repeated on a new connection, even if one per host is allowed")
    func newcomerAtLimit() async throws {
        let server = try await RawServer.start { connection in
            var stream = try await connection.acceptHTTP2Request()
            if connection.index == 0 {
                try await connection.write(.response(stream: stream), .data(stream: stream, [1], endStream: true))
                stream = try await connection.readRequestStream()
                try await connection.write(.resetStream(stream, .refusedStream))
            } else {
                try await connection.write(.response(stream: stream), .data(stream: stream, [2], endStream: true))
            }
            try await connection.closed
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url()) == [1])
        #expect(try await session.fetch(server.url()) == [2])
        #expect(server.accepted == 2)
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
        let server = try await server(gate, configuration)
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

    @Test("requests that wait for a stream survive a server that accepts no second connection")
    func refusedDial() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 1
        let server = try await server(gate, configuration)
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        // After the first request the client has read the server's SETTINGS.
        #expect(try await session.fetch(server.url("/a")) == Array("/a".utf8))
        let held = Task { try await session.fetch(server.url("/held")) }
        try await server.waitForRequests(2)
        await server.stopAccepting()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    let body = try await session.fetch(server.url("/\(index)"))
                    #expect(body == Array("/\(index)".utf8))
                }
            }
            try await eventually("they wait") { await session.session?.figures().tasksAwaitingConnections == 8 }
            gate.open()
            try await group.waitForAll()
        }
        #expect(try await held.value == Array("/held".utf8))
    }

    @Test(
        "an HTTP/2 connection is filled up to the server's stream limit before another is opened",
        arguments: [10, 130, 400])
    func filling(permitted: Int) async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = permitted
        let server = try await server(gate, configuration)
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url("/a")) == Array("/a".utf8))
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<permitted + 20 { group.addTask { try await session.fetch(server.url("/held")) } }
            try await server.waitForRequests(1 + permitted)
            gate.open()
            for try await body in group { #expect(body == Array("/held".utf8)) }
        }
        #expect(server.connectionCounts.accepted == 1)
        #expect(server.requestCount == permitted + 21)
    }

    @Test("a learned stream limit expires, and the limit of connections still holds")
    func forgettingLimits() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 2
        let server = try await server(gate, configuration)
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        #expect(try await session.fetch(server.url("/a")) == Array("/a".utf8))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { _ = try await session.fetch(server.url("/held")) } }
            try await server.waitForRequests(3)
            gate.open()
            try await group.waitForAll()
        }
        for index in 0..<1000 {
            let body = try await session.fetch(server.url("/\(index)"))
            #expect(body == Array("/\(index)".utf8))
        }
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("exchanges that wait for a stream keep their order if the server allows a single stream")
    func order() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 1
        let targets = Guarded<[String]>([])
        let server = try await MockServer.start(configuration) { request in
            targets.withLock { $0.append(request.target) }
            if request.target == "/held" { try await gate.wait() }
            return MockResponse()
        }
        let session = try makeSession {
            $0.versionPolicy = .http2PriorKnowledge
            $0.connections.perHost = 1
        }
        _ = try await session.fetch(server.url("/first"))
        async let held = session.fetch(server.url("/held"))
        try await server.waitForRequests(2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask { _ = try await session.fetch(server.url("/\(index)")) }
                try await eventually("it waits") {
                    await session.session?.figures().runningTasks == 2 + index
                }
            }
            try await session.expectWaiting(atLeast: 1)
            gate.open()
            try await group.waitForAll()
        }
        _ = try await held
        #expect(targets.withLock { $0 } == ["/first", "/held"] + (0..<20).map { "/\($0)" })
    }

    @Test("exchanges that wait for a connection survive the end of the exchange that opens it")
    func cancelledOwner() async throws {
        let gate = Gate()
        var configuration = MockServer.Configuration(protocols: [.http2])
        configuration.concurrentStreams = 1
        let server = try await server(gate, configuration)
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        _ = try await session.fetch(server.url("/a"))
        let held = Task { try await session.fetch(server.url("/held")) }
        try await server.waitForRequests(2)
        await server.stopAccepting()
        let owners = (0..<4).map { index in Task { try await session.fetch(server.url("/owner/\(index)")) } }
        let others = (0..<4).map { index in Task { try await session.fetch(server.url("/\(index)")) } }
        try await session.expectWaiting(atLeast: 8)
        for owner in owners { owner.cancel() }
        for owner in owners { #expect(await curlewError { _ = try await owner.value }?.code == .cancelled) }
        gate.open()
        for (index, other) in others.enumerated() {
            let body = try await other.value
            #expect(body == Array("/\(index)".utf8))
        }
        _ = try await held.value
    }

    @Test("exchanges of a broken connection share the next one")
    func newcomersShare() async throws {
        let server = try await RawServer.start { connection in
            let first = try await connection.acceptHTTP2Request()
            try await connection.write(.response(stream: first), .data(stream: first, [0], endStream: true))
            if connection.index == 0 {
                for _ in 0..<20 {
                    try await connection.write(.resetStream(connection.readRequestStream(), .refusedStream))
                }
            } else {
                for _ in 1..<20 {
                    let stream = try await connection.readRequestStream()
                    try await connection.write(.response(stream: stream), .data(stream: stream, [1], endStream: true))
                }
            }
            try await connection.closed
        }
        let session = try makeSession { $0.versionPolicy = .http2PriorKnowledge }
        _ = try await session.fetch(server.url())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await session.fetch(server.url()) } }
            try await group.waitForAll()
        }
        // A new connection can be shared from its first response on (Engine.sharesAfterFirstHead); until then others
        // are opened.
        let most = Engine.sharesAfterFirstHead ? 10 : 2
        #expect((2...most).contains(server.accepted))
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
        let (first, second) = (try await server(gate), try await server(gate))
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
