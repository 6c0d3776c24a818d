import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewLoad

@Suite("Balancing requests over the addresses of a host", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct AddressBalancingTests {
    private typealias Handler = @Sendable (Int, InboundRequest) async throws -> MockResponse

    /// Servers at several addresses with the same port.
    private func servers(
        _ addresses: [String] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"], tls: ServerTLS? = nil,
        _ handler: @escaping Handler = { _, _ in MockResponse(body: "ok") }
    ) async throws -> [MockServer] {
        // The port of the first server may be taken by another process at another address.
        for _ in 0..<20 {
            var servers: [MockServer] = []
            for (index, address) in addresses.enumerated() {
                let place = ServerAddress.ip(address, port: servers.first?.port ?? 0)
                guard
                    let server = try? await MockServer.start(
                        .init(address: place, tls: tls), handler: { try await handler(index, $0) })
                else { break }
                servers.append(server)
            }
            if servers.count == addresses.count { return servers }
            for server in servers { await server.shutdown() }
        }
        throw TestFailure("no port is free at \(addresses)")
    }

    private struct TestFailure: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private func lookup(_ addresses: [String] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]) -> HostLookup {
        HostLookup { _, answer in answer(.success(addresses.compactMap { .init($0) })) }
    }

    private func balancing(
        _ strategy: AddressBalancing.Strategy, _ lookup: HostLookup, _ clock: TestClock = TestClock()
    ) -> AddressBalancing {
        AddressBalancing(strategy, lifetime: .seconds(30), lookup: lookup, Timekeeper(clock))
    }

    private func get(_ session: HTTPSession, _ port: Int, _ path: String = "/", scheme: String = "http") async throws {
        let response = try await session.get(.raw("\(scheme)://birds.test:\(port)\(path)"))
        _ = try await response.body.collect(upTo: 100)
    }

    @Test("responses from any address are stored under their host")
    func stored() async throws {
        let servers = try await servers { _, _ in MockResponse(fields: [.cacheControl: "max-age=60"], body: "ok") }
        let link = balancing(.roundRobin, lookup())
        let cache = HTTPCache()
        let session = try makeSession {
            cache
            link
        }
        for path in ["/a", "/b", "/a", "/b"] { try await get(session, servers[0].port, path) }
        #expect(servers.map(\.requestCount) == [1, 1, 0])
        #expect(cache.figures.hits == 2 && cache.figures.stored == 2)
    }

    @Test("requests rotate over the addresses, and reuse pooled connections")
    func roundRobin() async throws {
        let servers = try await servers()
        let link = balancing(.roundRobin, lookup())
        let session = try makeSession { link }
        for _ in 0..<6 { try await get(session, servers[0].port) }
        #expect(servers.map(\.requestCount) == [2, 2, 2])
        #expect(servers.map(\.connectionCounts.accepted) == [1, 1, 1])
        #expect(await servers[1].takeRequest()?.fields[HTTPField.Name("Host")!] == "birds.test:\(servers[0].port)")
    }

    @Test("a dead address is excluded for ten seconds, and its requests, POST too, use another at once")
    func deadAddress() async throws {
        let servers = try await servers()
        await servers[2].shutdown()
        let clock = TestClock()
        let link = balancing(.roundRobin, lookup(), clock)
        let session = try makeSession { link }
        let tries = Guarded<[String]>([])
        let counted = try makeSession {
            link
            Link { request, next in
                tries.withLock { $0.append(request.options.route?.redirections.first?.toHost ?? "none") }
                return try await next(request)
            }
        }
        for _ in 0..<5 {
            let response = try await counted.post(.raw("http://birds.test:\(servers[0].port)/"), .body(.string("x")))
            #expect(response.status == .ok)
        }
        let (one, two, three) = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
        #expect(tries.withLock { $0 } == [one, two, three, one, two, one])
        clock.advance(by: .seconds(10))
        for _ in 0..<3 { try await get(counted, servers[0].port) }
        #expect(tries.withLock { $0.suffix(4) }.filter { $0 == three }.count == 1)
        // The second failure doubles the time.
        clock.advance(by: .seconds(19))
        tries.withLock { $0 = [] }
        for _ in 0..<3 { try await get(counted, servers[0].port) }
        #expect(!tries.withLock { $0 }.contains(three))
        clock.advance(by: .seconds(1))
        for _ in 0..<3 { try await get(counted, servers[0].port) }
        #expect(tries.withLock { $0 }.contains(three))
        _ = session
    }

    @Test("a request fails with the last error when every address is dead, and the addresses are tried again")
    func allDead() async throws {
        let servers = try await servers()
        let session = try makeSession { balancing(.leastPending, lookup()) }
        for server in servers { await server.shutdown() }
        for _ in 0..<2 {
            let error = await curlewError { try await get(session, servers[0].port) }
            #expect(error?.code == .connectionRefused)
        }
        let once = try CurlewRequest(.post, "http://birds.test:\(servers[0].port)/", body: oneShot("x"))
        let error = await curlewError { _ = try await session.send(once) }
        #expect(error?.code == .connectionRefused)
    }

    @Test("the address with the fewest running requests is chosen, and an unread body counts")
    func leastPending() async throws {
        let servers = try await servers { _, request in
            request.path == "/long" ? MockResponse(body: .pattern(count: 32 << 20)) : MockResponse(body: "ok")
        }
        let port = servers[0].port
        let session = try makeSession { balancing(.leastPending, lookup()) }
        func requests(_ count: Int, besides others: Int) async throws {
            for _ in 0..<count {
                try await get(session, port)
                try await eventually("the exchange has ended") { await session.session?.tasks().count == others }
            }
        }
        let long = try await session.get(.raw("http://birds.test:\(port)/long"))
        try await requests(4, besides: 1)
        #expect(servers.map(\.requestCount) == [1, 2, 2])
        _ = try await long.body.collect(upTo: .mebibytes(64))
        try await eventually("the long exchange has ended") { await session.session?.tasks().isEmpty == true }
        try await requests(3, besides: 0)
        #expect(servers.map(\.requestCount) == [2, 3, 3])
        // A dropped body does not count any more.
        do { _ = try await session.get(.raw("http://birds.test:\(port)/long")) }
        try await eventually("the dropped exchange has ended") { await session.session?.tasks().isEmpty == true }
        try await requests(3, besides: 0)
        #expect(servers.map(\.requestCount).reduce(0, +) == 12 && servers.allSatisfy { $0.requestCount > 2 })
    }

    @Test("the allowed address is used if the policy forbids the others")
    func addressPolicy() async throws {
        let servers = try await servers()
        var options = RequestOptions()
        options.addressPolicy = .only([try IPNetwork("127.0.0.2/32")])
        let session = try makeSession { balancing(.roundRobin, lookup()) }
        for _ in 0..<3 {
            let response = try await session.get(.raw("http://birds.test:\(servers[0].port)/"), options: options)
            #expect(response.status == .ok)
        }
        #expect(servers.map(\.requestCount) == [0, 3, 0])
        #expect(servers.map(\.connectionCounts.accepted) == [0, 1, 0])
        // Requests with another policy use all three addresses.
        for _ in 0..<3 { try await get(session, servers[0].port) }
        #expect(servers.map(\.requestCount) == [1, 4, 1])
    }

    @Test("IPv6 addresses are used, and the route's address family is respected")
    func families() async throws {
        let servers = try await servers(["127.0.0.1", "::1"])
        let session = try makeSession { balancing(.roundRobin, lookup(["::1", "127.0.0.1", "fe80::1%lo"])) }
        for _ in 0..<4 { try await get(session, servers[0].port) }
        #expect(servers.map(\.requestCount) == [2, 2])
        var options = RequestOptions()
        options.route = ConnectionRoute(addressFamily: .ipv6)
        for _ in 0..<2 { _ = try await session.get(.raw("http://birds.test:\(servers[0].port)/"), options: options) }
        #expect(servers.map(\.requestCount) == [2, 4])
    }

    @Test("an untrusted server fails the request without a try of another address")
    func untrusted() async throws {
        let servers = try await servers(tls: ServerTLS([try TestChain.selfSigned.get()]))
        let tries = Guarded(0)
        let session = try makeSession {
            balancing(.roundRobin, lookup())
            Link { request, next in
                tries.withLock { $0 += 1 }
                return try await next(request)
            }
        }
        let error = await curlewError { try await get(session, servers[0].port, scheme: "https") }
        #expect(error?.code.isTrustFailure == true && tries.withLock { $0 } == 1)
    }

    @Test("an IP address as host, a request's own route and a failed look-up leave a request unchanged")
    func leftAlone() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let asked = Guarded(0)
        let missing = HostLookup { _, answer in
            asked.withLock { $0 += 1 }
            answer(.failure(CurlewError(.hostNotFound, "no such host")))
        }
        let session = try makeSession { balancing(.roundRobin, missing) }
        _ = try await session.get(.raw("http://127.0.0.1:\(server.port)/"))
        var options = RequestOptions()
        options.route = ConnectionRoute(
            hosts: [.init(host: "birds.test", port: server.port, addresses: ["127.0.0.1"])])
        _ = try await session.get(.raw("http://birds.test:\(server.port)/"), options: options)
        #expect(asked.withLock { $0 } == 0)
        _ = try await session.get(.raw("http://localhost:\(server.port)/"))
        #expect(asked.withLock { $0 } == 1 && server.requestCount == 3)
    }

    @Test("the system's look-up finds localhost")
    func system() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try makeSession { AddressBalancing(.leastPending) }
        #expect(try await session.get(.raw("http://localhost:\(server.port)/")).status == .ok)
    }

    @Test("a call can be cancelled during the look-up, and a deadline ends it in time")
    func waiting() async throws {
        let clock = TestClock()
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        let never = HostLookup { _, _ in beginning.yield() }
        let session = try makeSession {
            AddressBalancing(.roundRobin, lifetime: .seconds(30), lookup: never, Timekeeper(clock))
        }
        let call = Task { try await session.get(.raw("http://birds.test:1/")) }
        _ = await begun.first { _ in true }
        call.cancel()
        let cancelled = await curlewError { _ = try await call.value }
        #expect(cancelled?.code == .cancelled)
        let late = Task {
            try await session.get(.raw("http://birds.test:1/"), options: RequestOptions(totalTimeout: .seconds(1)))
        }
        try await clock.advanceToNextSleeper()
        let error = await curlewError { _ = try await late.value }
        #expect(error?.code == .totalTimeout)
    }
}

@Suite("The address pool of balanced hosts", .timeLimit(.minutes(1)))
struct AddressPoolTests {
    private let clock = TestClock()
    private let answers = Guarded<[@Sendable (HostLookup.Answer) -> Void]>([])

    private func pool(hosts: Int = 10) -> AddressPool {
        let lookup = HostLookup { [answers] _, answer in answers.withLock { $0.append(answer) } }
        return AddressPool(lookup, lifetime: .seconds(30), hostLimit: hosts, Timekeeper(clock))
    }

    private func answer(_ addresses: String...) {
        let found = addresses.compactMap { HostLookup.Destinations.Element($0) }
        let missing = HostLookup.Answer.failure(CurlewError(.hostNotFound, "no such host"))
        let waiting = answers.withLock { answers in
            defer { answers = [] }
            return answers
        }
        for answer in waiting { answer(found.isEmpty ? missing : .success(found)) }
    }

    private var begun: Int { answers.withLock { $0.count } }

    private func picked(_ pool: AddressPool, _ count: Int = 3, of name: String = "h") -> [String] {
        (0..<count).compactMap { _ in pool.use(of: name, by: .roundRobin, .any, except: [])?.address.description }
    }

    @Test("simultaneous callers share a look-up, which survives the cancellation of one caller")
    func sharing() async throws {
        let pool = pool()
        #expect(!pool.hasAddresses(of: "h"))
        let waits = (0..<20).map { _ in
            Task {
                if !pool.hasAddresses(of: "h") { await pool.addressesArrive(of: "h") }
            }
        }
        try await eventually("all wait") { pool.waiterCount(of: "h") == 20 }
        for wait in waits.prefix(5) {
            wait.cancel()
            await wait.value
        }
        #expect(pool.waiterCount(of: "h") == 15 && begun == 1)
        answer("10.0.0.1", "10.0.0.2")
        for wait in waits { await wait.value }
        #expect(pool.hasAddresses(of: "h") && picked(pool) == ["10.0.0.1", "10.0.0.2", "10.0.0.1"])
        await pool.addressesArrive(of: "h")
    }

    @Test("addresses are refreshed in the background, and old ones are used while that fails")
    func lifetime() {
        let pool = pool()
        #expect(!pool.hasAddresses(of: "h"))
        answer("10.0.0.1", "10.0.0.2")
        #expect(pool.hasAddresses(of: "h") && begun == 0)
        clock.advance(by: .seconds(30))
        #expect(pool.hasAddresses(of: "h") && begun == 1)
        #expect(pool.hasAddresses(of: "h") && begun == 1)
        answer()
        #expect(pool.hasAddresses(of: "h") && begun == 0)
        clock.advance(by: .seconds(5))
        #expect(pool.hasAddresses(of: "h") && begun == 1)
        #expect(picked(pool) == ["10.0.0.1", "10.0.0.2", "10.0.0.1"])
        answer("10.0.0.3", "10.0.0.1")
        #expect(pool.hasAddresses(of: "h") && Set(picked(pool)) == ["10.0.0.1", "10.0.0.3"])
        // The addresses expire after ten lifetimes without a refresh.
        clock.advance(by: .seconds(301))
        #expect(!pool.hasAddresses(of: "h") && begun == 1)
        answer()
        #expect(pool.hasAddresses(of: "h") && Set(picked(pool)) == ["10.0.0.1", "10.0.0.3"])
    }

    @Test("repeated failure doubles an address's exclusion, up to five minutes; simultaneous failures count once")
    func pauses() {
        let pool = pool()
        _ = pool.hasAddresses(of: "h")
        answer("10.0.0.1", "10.0.0.2")
        func fail() {
            let uses = (0..<4).compactMap { _ in pool.use(of: "h", by: .roundRobin, .any, except: []) }
            for use in uses where use.address == IPAddress("10.0.0.2") { pool.failed(use) }
        }
        for seconds in [10, 20, 40, 80, 160, 300, 300] {
            fail()
            clock.advance(by: .seconds(seconds) - .nanoseconds(1))
            #expect(Set(picked(pool)) == ["10.0.0.1"], "\(seconds)")
            clock.advance(by: .nanoseconds(1))
            #expect(Set(picked(pool)) == ["10.0.0.1", "10.0.0.2"], "\(seconds)")
        }
    }

    @Test("the least recently used host is removed when there are too many")
    func bound() {
        let pool = pool(hosts: 2)
        for name in ["a", "b"] {
            _ = pool.hasAddresses(of: name)
            answer("10.0.0.1")
            clock.advance(by: .seconds(1))
        }
        #expect(pool.hasAddresses(of: "a"))
        clock.advance(by: .seconds(1))
        #expect(!pool.hasAddresses(of: "c"))
        answer("10.0.0.1")
        #expect(picked(pool, of: "b").isEmpty && picked(pool, 1, of: "a") == ["10.0.0.1"])
        #expect(picked(pool, 1, of: "c") == ["10.0.0.1"])
    }

    @Test("releasing an address twice counts once, and dropping it releases it")
    func uses() {
        let pool = pool()
        _ = pool.hasAddresses(of: "h")
        answer("10.0.0.1", "10.0.0.2")
        func pick() -> AddressUse? { pool.use(of: "h", by: .leastPending, .any, except: []) }
        let first = pick()
        for _ in 0..<3 { #expect(pick()?.address == IPAddress("10.0.0.2")) }
        first?.end()
        first?.end()
        let second = pick()
        #expect(second?.address == IPAddress("10.0.0.1"))
        #expect(pick()?.address == IPAddress("10.0.0.2"))
    }

    @Test("equal routes share their connection options")
    func sharedOptions() throws {
        let defaults = try RequestDefaults(SessionConfiguration())
        func options(_ host: String) throws -> ConnectionOptions {
            var request = try CurlewRequest(.get, "http://h.example/")
            request.options.route = ConnectionRoute(redirections: [.init(toHost: host, toPort: 80)])
            return try PreparedRequest(request, defaults: defaults).options
        }
        let first = try options("10.0.0.1")
        #expect(try options("10.0.0.1") === first)
        #expect(try options("10.0.0.2") !== first)
        for number in 0..<300 { _ = try options("10.0.1.\(number)") }
        #expect(try options("10.0.0.1").values == first.values)
    }
}
