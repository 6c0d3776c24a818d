import CStalledResolver
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import Testing

@Suite("Limits on the reuse of connections", .noLeaks, .timeLimit(.minutes(2)))
struct ConnectionLimitTests {
    /// The kinds of connections, shareable or not.
    enum Kind: CaseIterable, CustomTestStringConvertible {
        case cleartext1, tls1, cleartext2, tls2

        var testDescription: String {
            switch self {
            case .cleartext1: "HTTP/1.1"
            case .tls1: "HTTP/1.1 over TLS"
            case .cleartext2: "HTTP/2 with prior knowledge"
            case .tls2: "HTTP/2 over TLS"
            }
        }

        var isSecure: Bool { self == .tls1 || self == .tls2 }
        var isMultiplexed: Bool { self == .cleartext2 || self == .tls2 }

        fileprivate var version: HTTPVersionPolicy {
            switch self {
            case .cleartext1, .tls1: .http11
            case .cleartext2: .http2PriorKnowledge
            case .tls2: .negotiated
            }
        }
    }

    /// A limit that every connection reaches with its first request.
    enum Limit: CaseIterable, CustomTestStringConvertible {
        case age, uses, silence

        var testDescription: String { "\(self)" }

        fileprivate func set(in limits: inout ConnectionLimits) {
            switch self {
            case .age: limits.maximumAge = .nanoseconds(1)
            case .uses: limits.maximumUses = 1
            case .silence: limits.silenceTimeout = .nanoseconds(1)
            }
        }
    }

    /// A server that answers with the target; paths under `/held` wait for the gate.
    private struct Stage {
        let server: MockServer
        let session: HTTPSession
        let gate = Gate()

        init(_ kind: Kind, _ adjust: (inout ConnectionLimits) -> Void) async throws {
            var configuration = MockServer.Configuration()
            if kind.isSecure { configuration.tls = ServerTLS(try TestChain.sent()) }
            let gate = gate
            server = try await MockServer.start(configuration) { request in
                if request.target.hasPrefix("/held") { try await gate.wait() }
                return MockResponse(body: .string(request.target))
            }
            let anchor = try TestChain.root.get().anchor
            session = try makeSession {
                $0.versionPolicy = kind.version
                if kind.isSecure { $0.security = anchor }
                adjust(&$0.connections)
            }
        }

        func fetch(_ target: String) async throws {
            #expect(try await session.fetch(server.url(target)) == Array(target.utf8))
        }

        func end() async {
            await session.shutdown()
            await server.shutdown()
        }
    }

    @Test(
        "a connection that has reached a limit is closed, and the next request uses another",
        arguments: Kind.allCases, Limit.allCases)
    func inRow(_ kind: Kind, _ limit: Limit) async throws {
        let stage = try await Stage(kind) { limit.set(in: &$0) }
        for index in 0..<4 { try await stage.fetch("/\(index)") }
        // libcurl before 8.0 may need a second attempt in cleartext, because it notices only then that no connection
        // can be joined.
        let accepted = stage.server.connectionCounts.accepted
        #expect(kind == .cleartext2 ? accepted >= 4 : accepted == 4)
        #expect(stage.server.requestCount == 4)
        try await stage.server.waitForConnections { $0.open <= 1 }
        await stage.end()
    }

    @Test(
        "a connection that reaches a limit finishes its running request, accepts no other, and closes",
        arguments: Kind.allCases.filter(\.isMultiplexed), Limit.allCases)
    func underWay(_ kind: Kind, _ limit: Limit) async throws {
        let stage = try await Stage(kind) { limit.set(in: &$0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await stage.fetch("/held") }
            try await stage.server.waitForRequests(1)
            for index in 0..<3 { try await stage.fetch("/\(index)") }
            #expect(stage.server.connectionCounts.accepted >= 4)
            stage.gate.open()
            try await group.waitForAll()
        }
        try await stage.fetch("/last")
        // In cleartext the other connections are idle, and are noticed one by one.
        try await stage.server.waitForConnections { kind.isSecure ? $0.open <= 1 : $0.open < $0.accepted }
        await stage.end()
    }

    @Test("new requests share the successor of a connection that has reached its number of requests")
    func shared() async throws {
        let stage = try await Stage(.tls2) { $0.maximumUses = 3 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await stage.fetch("/held") }
            try await stage.server.waitForRequests(1)
            for index in 0..<2 { try await stage.fetch("/\(index)") }
            #expect(stage.server.connectionCounts.accepted == 1)
            for index in 0..<3 { try await stage.fetch("/\(index)") }
            #expect(stage.server.connectionCounts.accepted == 2)
            try await stage.fetch("/another")
            #expect(stage.server.connectionCounts.accepted == 3)
            stage.gate.open()
            try await group.waitForAll()
        }
        // The third connection has carried one request, and stays open.
        try await stage.server.waitForConnections(open: 1)
        for index in 0..<2 { try await stage.fetch("/\(index)") }
        #expect(stage.server.connectionCounts.accepted == 3)
        await stage.end()
    }

    @Test("requests after a connection's last one open at most one connection each, which later requests share")
    func sharedAtOnce() async throws {
        let stage = try await Stage(.tls2) { $0.maximumUses = 3 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await stage.fetch("/held") }
            try await stage.server.waitForRequests(1)
            for index in 0..<2 { try await stage.fetch("/\(index)") }
            for index in 0..<2 { group.addTask { try await stage.fetch("/held/\(index)") } }
            try await stage.server.waitForRequests(5)
            let accepted = stage.server.connectionCounts.accepted
            // libcurl 7.88 does not wait for a connection that is being opened if it has another to the same host.
            #expect((2...3).contains(accepted))
            try await stage.fetch("/another")
            #expect(stage.server.connectionCounts.accepted == accepted)
            stage.gate.open()
            try await group.waitForAll()
        }
        try await stage.server.waitForConnections { $0.open < $0.accepted }
        await stage.end()
    }

    @Test(
        "a connection carries the allowed number of requests, and is closed after the last", arguments: Kind.allCases)
    func uses(_ kind: Kind) async throws {
        let stage = try await Stage(kind) { $0.maximumUses = 2 }
        for index in 0..<4 { try await stage.fetch("/\(index)") }
        #expect(stage.server.connectionCounts.accepted <= (kind == .cleartext2 ? 4 : 2))
        try await stage.server.waitForConnections(open: 0)
        try await stage.fetch("/last")
        await stage.end()
    }

    @Test("a single-use body is sent completely if the pooled connection has reached a limit", arguments: Kind.allCases)
    func oneShotBody(_ kind: Kind) async throws {
        let stage = try await Stage(kind) { $0.maximumAge = .nanoseconds(1) }
        try await stage.fetch("/first")
        let response = try await stage.session.post(.raw(stage.server.url("/posted")), .body(oneShot("body")))
        #expect(response.status == .ok)
        _ = try await response.body.collect(upTo: 100)
        _ = await stage.server.takeRequest()
        #expect(await stage.server.takeRequest()?.body == Array("body".utf8))
        await stage.end()
    }

    @Test(
        "simultaneous requests succeed if every connection is too old for a second request",
        arguments: Kind.allCases)
    func flood(_ kind: Kind) async throws {
        let stage = try await Stage(kind) { $0.maximumAge = .nanoseconds(1) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<60 { group.addTask { try await stage.fetch("/\(index)") } }
            try await group.waitForAll()
        }
        #expect(stage.server.requestCount == 60)
        await stage.end()
    }

    @Test("limits that are not reached have no effect", arguments: Kind.allCases)
    func generous(_ kind: Kind) async throws {
        let stage = try await Stage(kind) {
            $0.maximumAge = .seconds(3600)
            $0.maximumUses = 1000
            $0.silenceTimeout = .seconds(3600)
        }
        for index in 0..<10 { try await stage.fetch("/\(index)") }
        #expect(stage.server.connectionCounts.accepted == 1)
        await stage.end()
    }

    @Test("an invalid duration is an error when the session is created")
    func invalid() {
        let changes: [@Sendable (inout ConnectionLimits) -> Void] = [
            { $0.idleLifetime = .zero }, { $0.maximumAge = .zero }, { $0.maximumAge = .seconds(-1) },
            { $0.silenceTimeout = .zero }, { $0.keepAliveInterval = .zero }, { $0.keepAliveInterval = .seconds(-5) },
            { $0.nameLifetime = .nanoseconds(-1) },
        ]
        for change in changes {
            let error = #expect(throws: CurlewError.self) { _ = try makeSession { change(&$0.connections) } }
            #expect(error?.code == .invalidRequest)
        }
        #expect(ConnectionLimits(maximumUses: -1).maximumUses == 0)
    }

    // MARK: Probes

    /// A socket option of the socket that is connected to the port; nil without such a socket.
    private func option(_ level: Int32, _ name: Int32, ofSocketTo port: Int) -> Int32? {
        for descriptor in Int32(0)..<1024 {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutableBytes(of: &address) { bytes in
                getpeername(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
            }
            guard status == 0, address.sin_family == sa_family_t(AF_INET),
                Int(UInt16(bigEndian: address.sin_port)) == port
            else { continue }
            var value: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, level, name, &value, &size) == 0 ? value : nil
        }
        return nil
    }

    @Test(
        "the system probes silent connections at the session's interval",
        arguments: [Duration.seconds(15), .milliseconds(2500), nil])
    func probes(_ interval: Duration?) async throws {
        let stage = try await Stage(.cleartext1) { $0.keepAliveInterval = interval }
        try await stage.fetch("/")
        let port = stage.server.port
        let tcp = Int32(IPPROTO_TCP)
        let seconds: Int32 = interval == .seconds(15) ? 15 : 3
        #expect(option(SOL_SOCKET, SO_KEEPALIVE, ofSocketTo: port) == (interval == nil ? 0 : 1))
        if interval != nil {
            #expect(option(tcp, TCP_KEEPIDLE, ofSocketTo: port) == seconds)
            #expect(option(tcp, TCP_KEEPINTVL, ofSocketTo: port) == seconds)
            #expect(option(tcp, TCP_KEEPCNT, ofSocketTo: port) == 3)
        }
        await stage.end()
    }

    @Test("the default interval of probes is 15 seconds")
    func usualProbes() {
        #expect(ConnectionLimits().keepAliveInterval == .seconds(15))
        #expect(ConnectionLimits().nameLifetime == .seconds(60))
    }

    // MARK: Names

    @Test(
        "a name is looked up again after the lifetime of its addresses",
        arguments: [("anew", Duration.zero, 3), ("kept", .seconds(60), 1), ("always", Timeouts.unlimited, 1)])
    func names(_ label: String, _ lifetime: Duration, _ lookups: Int32) async throws {
        let name = "\(label).counted.test"
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let session = try makeSession { $0.connections.nameLifetime = lifetime }
        let before = curlew_counted_lookups(name)
        for _ in 0..<3 { #expect(try await session.fetch("http://\(name):\(server.port)/") == Array("ok".utf8)) }
        #expect(server.accepted == 3)
        #expect(curlew_counted_lookups(name) - before == lookups)
        await session.shutdown()
        await server.shutdown()
    }
}
