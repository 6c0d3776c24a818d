import CurlewTesting
import CurlewTestingTraits
import Foundation
import Glibc
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("A session across network changes", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct SessionNetworkTests {
    private func path(_ address: String) -> ReachabilityStatus {
        .reachable(ReachabilityStatus.Path(interface: "eth0", kind: .wired, localAddresses: [address]))
    }

    /// Waits for the session's event about its retired connections.
    private func changed(_ events: inout AsyncStream<SessionEvent>.AsyncIterator) async {
        while let event = await events.next(isolation: #isolation), event.kind != .networkChanged {}
    }

    @Test("a change of address closes idle connections, and the next request opens a new one")
    func idle() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        actor.followNetworkChanges(updates)
        _ = try await session.fetch(server.url())
        tell.yield(path("192.0.2.1"))
        // The same network after a pause is no change.
        tell.yield(.notReachable)
        tell.yield(path("192.0.2.1"))
        tell.yield(path("192.0.2.2"))
        await changed(&events)
        try await server.waitForConnections(open: 0)
        _ = try await session.fetch(server.url())
        #expect(server.connectionCounts.accepted == 2)
        #expect(await actor.connectionCount() == 1)
    }

    @Test("an HTTP/2 request that runs during a network change keeps its connection, and later ones share a new one")
    func multiplexed() async throws {
        let certificate = try HeldCertificate.localhost()
        var configuration = MockServer.Configuration()
        configuration.tls = ServerTLS([certificate])
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start(configuration) { request in
            if request.target == "/slow" { for await _ in gate { break } }
            return MockResponse(body: .string("\(request.connectionIndex)"))
        }
        let session = try makeSession { $0.security = .anchors(pem: certificate.certificatePEM) }
        let slow = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        await session.session?.retireConnections()
        for _ in 0..<5 { #expect(try await session.fetch(server.url()) == Array("1".utf8)) }
        open.yield()
        #expect(try await slow.value == Array("0".utf8))
        #expect(server.connectionCounts.accepted == 2)
        try await server.waitForConnections(open: 1)
        try await session.expectUsable()
    }

    @Test("a queued request is sent on a new connection after a network change")
    func held() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if request.target == "/slow" { for await _ in gate { break } }
            return MockResponse(body: "ok")
        }
        let session = try makeSession { $0.tasksInFlight = 1 }
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        let slow = Task { try await session.fetch(server.url("/slow")) }
        try await server.waitForRequests(1)
        let waiting = try actor.dataTask(CurlewRequest(.get, CurlewURI(server.url())))
        waiting.resume()
        waiting.suspend()
        while let event = await events.next(), event.kind != .suspended {}
        // The slot becomes free while the waiting task is suspended.
        open.yield()
        _ = try await slow.value
        while let event = await events.next(), event.kind != .completed {}
        await actor.retireConnections()
        try await server.waitForConnections(open: 0)
        #expect(try await waiting.exchange.run().body.collect(upTo: 10) == Array("ok".utf8))
        #expect(server.connectionCounts.accepted == 2)
    }

    @Test("idle connections are closed even if another is in use")
    func idleBeside() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let busy = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse(body: "ok")
        }
        let idle = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession()
        _ = try await session.fetch(idle.url())
        let slow = Task { try await session.fetch(busy.url()) }
        try await busy.waitForRequests(1)
        await session.session?.retireConnections()
        try await idle.waitForConnections(open: 0)
        open.yield()
        #expect(try await slow.value == Array("ok".utf8))
    }

    @Test("a task that starts during the network change uses a new connection")
    func turn() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { request in
            if request.target == "/slow" { for await _ in gate { break } }
            return MockResponse(body: "ok")
        }
        let other = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try makeSession { $0.tasksInFlight = 1 }
        let actor = try #require(session.session)
        let shard = actor.shards[0]
        _ = try await session.fetch(other.url())
        let slow = try actor.dataTask(CurlewRequest(.get, CurlewURI(server.url("/slow"))))
        let waiting = try actor.dataTask(CurlewRequest(.get, CurlewURI(server.url())))
        slow.resume()
        try await server.waitForRequests(1)
        let call = Task { try await waiting.exchange.run().body.collect(upTo: 10) }
        try await waitUntil { await waiting.state == .running }
        shard.loop.core.execute {
            slow.exchange.abort(CurlewError(.cancelled, "no more"))
            _ = shard.host.retireConnections()
        }
        #expect(try await call.value == Array("ok".utf8))
        open.finish()
    }

    @Test("retiring connections publishes no event if there are none")
    func nothing() async throws {
        let session = try makeSession()
        var events = try #require(session.session).events.makeAsyncIterator()
        await session.session?.retireConnections()
        await session.session?.invalidate(cancelling: false)
        #expect(await events.next()?.kind == .invalidated)
    }

    @Test("a session stops following the network when it is shut down or dropped")
    func ends() async throws {
        for isShutDown in [true, false] {
            let (updates, tell) = AsyncStream.makeStream(of: ReachabilityStatus.self)
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            tell.onTermination = { _ in
                end.yield()
                end.finish()
            }
            var session: SessionActor? = try SessionActor(eventLoops: [CurlewEventLoop(name: "curlew-test")])
            session?.followNetworkChanges(updates)
            if isShutDown { await session?.shutdown() }
            session = nil
            #expect(await ended.first { _ in true } != nil)
        }
    }

    @Test("a configuration is encoded and decoded with and without its connectivity timeout")
    func coding() throws {
        var configuration = SessionConfiguration()
        configuration.connectivityTimeout = .seconds(30)
        #expect(try decoded(configuration) == configuration)
        var old = try #require(
            JSONSerialization.jsonObject(with: JSONEncoder().encode(configuration)) as? [String: Any])
        old["connectivityTimeout"] = nil
        let data = try JSONSerialization.data(withJSONObject: old)
        #expect(try JSONDecoder().decode(SessionConfiguration.self, from: data).connectivityTimeout == nil)
    }

    @Test("a request that connects starts no reachability monitor")
    func noMonitor() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try await MockServer.start { _ in
            for await _ in gate { break }
            return MockResponse(body: "ok")
        }
        let session = try makeSession { $0.connectivityTimeout = .seconds(30) }
        let call = Task { try await session.fetch(server.url()) }
        try await server.waitForRequests(1)
        #expect(session.session?.connectivity.targets.isEmpty == true)
        open.yield()
        #expect(try await call.value == Array("ok".utf8))
    }

    @Test("a request that fails although there is a network fails at once, despite a connectivity timeout")
    func reachable() async throws {
        let refused = try RefusedPort.unused()
        let session = try makeSession { $0.connectivityTimeout = .seconds(30) }
        #expect(await curlewError { _ = try await session.get(.raw(refused.url())) }?.code == .connectionRefused)
    }
}

@Suite("A session in a separate network namespace", .needsNamespaces, .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct SessionNamespaceTests {
    /// A session whose sockets are in the namespace: its loop's thread has entered it.
    private func session(
        _ network: NetworkNamespace, _ adjust: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> HTTPSession {
        let loop = try CurlewEventLoop(name: "curlew-test")
        await withCheckedContinuation { continuation in
            loop.core.execute {
                network.enter()
                continuation.resume()
            }
        }
        var configuration = SessionConfiguration()
        adjust(&configuration)
        let actor = try SessionActor(configuration: configuration, eventLoops: [loop])
        var source = NetworkSource()
        source.opening = network.opening
        actor.connectivity.use(source)
        return try HTTPSession(transport: actor, chain: .bare) {}
    }

    /// Answers each request with the client's address, until the listening socket is closed.
    private func serve(_ network: NetworkNamespace, _ address: String) throws -> (port: Int, stop: @Sendable () -> Void)
    {
        let (listener, port) = try network.run { try NamespaceListener.listen(address) }
        let thread = Thread { NamespaceListener.answer(listener) }
        thread.name = "namespace"
        thread.start()
        return (port, { shutdown(listener, Int32(SHUT_RDWR)) })
    }

    @Test("a request waits for the network, publishes its wait, and is sent when there is one")
    func waits() async throws {
        let network = try NetworkNamespace()
        try network.ip("link set lo up")
        let session = try await session(network) { $0.connectivityTimeout = .seconds(50) }
        var events = try #require(session.session).events.makeAsyncIterator()
        let (port, stop) = try serve(network, "0.0.0.0")
        let call = Task { try await session.post("http://192.0.2.10:\(raw: "\(port)")/", .body(.string("x"))).status }
        var ended: TaskActor.Identifier?
        while let event = await events.next() {
            if event.kind == .completed { ended = event.task?.id }
            guard event.kind == .waitingForConnectivity else { continue }
            #expect(event.error?.code == .connectionFailed)
            // The event names the task whose failure caused the wait, after the end of this task.
            #expect(event.task != nil && event.task?.id == ended)
            break
        }
        try network.plugIn()
        #expect(try await call.value == .ok)
        stop()
    }

    @Test("a request over a custom transport waits for the network too")
    func waitsOverAnotherTransport() async throws {
        let network = try NetworkNamespace()
        try network.ip("link set lo up")
        let stub = StubTransport { _ in .response(.ok) }
        stub.enqueue(.failure(.connectionFailed, "no route", stage: .connecting))
        let session = try HTTPSession(transport: stub, chain: .bare) {}
        let connectivity = session.connectivity
        var source = NetworkSource()
        source.opening = network.opening
        connectivity.use(source)
        var options = RequestOptions()
        options.connectivityTimeout = .seconds(50)
        let call = Task { [options] in try await session.get("http://192.0.2.10/", options: options).status }
        try await waitUntil { connectivity.waitCount == 1 }
        try network.plugIn()
        #expect(try await call.value == .ok)
        #expect(stub.received.count == 2)
    }

    /// The action on the session before its connection's address is lost.
    enum Before: CaseIterable { case nothing, letGo, invalidated }

    /// The received part of the response by then; the second has a body that ends with its connection.
    private static let answers = [
        "", "HTTP/1.1 200 OK\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
    ]

    @Test(
        "a request whose connection has lost its local address fails at once, at every stage",
        arguments: Before.allCases, answers)
    func lostAddress(before: Before, answer: String) async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let session = try await session(network)
        let actor = try #require(session.session)
        // The listener accepts the connection, and reads the request.
        let (listener, port) = try network.run { try NamespaceListener.listen("192.0.2.10") }
        try network.ip("addr add 192.0.2.11/24 dev eth0")
        var options = RequestOptions()
        options.route = ConnectionRoute(localInterface: "192.0.2.11")
        let task = try actor.dataTask(CurlewRequest(.get, "http://192.0.2.10:\(port)/", options: options))
        let call = Task { try await task.exchange.run().body.collect(upTo: 100) }
        try await waitUntil { await actor.connectionCount() == 1 }
        let connection = accept(listener, nil, nil)
        var space = [UInt8](repeating: 0, count: 4096)
        #expect(recv(connection, &space, space.count, 0) > 0)
        if !answer.isEmpty {
            #expect(send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL)) == answer.utf8.count)
            try await waitUntil { await task.currentProgress.received.wire == 4 }
        }
        switch before {
        case .nothing: break
        case .letGo: await actor.retireConnections()
        case .invalidated: await actor.invalidate(cancelling: false)
        }
        try network.ip("addr del 192.0.2.11/24 dev eth0")
        await actor.retireConnections()
        #expect(await curlewError { _ = try await call.value }?.code == .connectionLost)
        close(connection)
        close(listener)
    }

    @Test("the end of the session ends the wait for the network", arguments: [false, true])
    func endsWaits(isShutDown: Bool) async throws {
        let network = try NetworkNamespace()
        let session = try await session(network) { $0.connectivityTimeout = .seconds(600) }
        let actor = try #require(session.session)
        var events = actor.events.makeAsyncIterator()
        let call = Task { try await session.get("http://192.0.2.10/") }
        while let event = await events.next(), event.kind != .waitingForConnectivity {}
        if isShutDown { await actor.shutdown() } else { await actor.invalidate(cancelling: false) }
        #expect(await curlewError { _ = try await call.value }?.code == .sessionInvalidated)
    }
}

/// A minimal server for network namespaces.
private enum NamespaceListener {
    static func listen(_ address: String) throws -> (listener: Int32, port: Int) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr(address)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && Glibc.listen(listener, 8) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard status else { throw NamespaceError("listen", errno) }
        return (listener, Int(UInt16(bigEndian: name.sin_port)))
    }

    static func answer(_ listener: Int32) {
        defer { close(listener) }
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            var space = [UInt8](repeating: 0, count: 4096)
            _ = recv(connection, &space, space.count, 0)
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
    }
}
