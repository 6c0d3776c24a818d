import CurlewTesting
import CurlewTestingTraits
import Testing

@Suite("The exchanges and connections to which a fault applies", .noLeaks, .timeLimit(.minutes(1)))
struct FaultScriptTests {
    private let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    /// The answer to one request on its own connection; empty if it is refused or broken off.
    private func ask(_ server: MockServer) async -> String {
        guard let client = try? await WireClient.connect(port: server.port) else { return "" }
        try? await client.send(self.get)
        let head = try? await client.receive(through: "\r\n\r\n")
        try? await client.close()
        return head ?? ""
    }

    private func complaint(_ server: MockServer) -> String? {
        let error = #expect(throws: TestKitError.self) { try server.verify() }
        return error?.description
    }

    @Test(
        "two faults for the next exchange or connection apply to two of them",
        arguments: [Fault.Trigger.atRequestStart, .onAccept])
    func twoAttempts(_ trigger: Fault.Trigger) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        for _ in 0..<2 { try server.inject(Fault(trigger, .close)) }
        #expect(await self.ask(server) == "")
        #expect(self.complaint(server) == "\(Fault(trigger, .close)) was not reached")
        #expect(await self.ask(server) == "")
        #expect(await self.ask(server).hasPrefix("HTTP/1.1 200"))
        #expect(server.committedFaults.map(\.connectionIndex) == [0, 1])
        try server.verify()
    }

    @Test(
        "a fault for every exchange, or for one connection, is reported by verify if it never applied",
        arguments: [Fault.Target.every, .connection(1)])
    func nobody(_ target: Fault.Target) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let fault = Fault(.atRequestStart, .close)
        try server.inject(fault, at: target)
        #expect(self.complaint(server) == "\(fault) was not reached")
        for _ in 0..<2 { _ = await self.ask(server) }
        try server.verify()
    }

    @Test("a fault for the next exchange waits for a later exchange if another fault ends it first")
    func named() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        try server.inject(Fault(.atRequestStart, .close))
        try server.inject(Fault(.atResponseStart, .close), at: .exchange(0))
        for _ in 0..<2 { #expect(await self.ask(server) == "") }
        #expect(
            server.committedFaults.map(\.fault) == [Fault(.atResponseStart, .close), Fault(.atRequestStart, .close)])
        try server.verify()
    }

    @Test("a fault for the next exchange applies together with one that does not end the exchange")
    func beside() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let garbage = Fault(.atResponseEnd, .garbage([0x3F]))
        for fault in [garbage, garbage] { try server.inject(fault) }
        let client = try await WireClient.connect(port: server.port)
        try await client.send(self.get)
        _ = try await client.receive(through: "??")
        #expect(server.committedFaults.map(\.exchangeIndex) == [0, 0])
        try server.verify()
    }

    @Test("a fault that is too late because another ended its exchange is reported by verify")
    func overtaken() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        try server.inject(Fault(.atRequestStart, .close), at: .exchange(0))
        try server.inject(Fault(.atResponseEnd, .reset), at: .exchange(0, onConnection: 0))
        #expect(await self.ask(server) == "")
        try await server.waitForConnections { $0.accepted == 1 && $0.open == 0 }
        await server.shutdown()
        #expect(
            self.complaint(server)
                == "reset at the response's end came too late: another fault had ended its exchange")
    }

    @Test("a fault that is too late because another ended its connection is reported by verify")
    func overtakenConnection() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        try server.inject(Fault(.afterHandshake, .reset), at: .connection(0))
        try server.inject(Fault(.onAccept, .close), at: .connection(0))
        #expect(await self.ask(server) == "")
        #expect(await self.ask(server).hasPrefix("HTTP/1.1 200"))
        // In cleartext both faults apply at the same moment, in order.
        #expect(
            self.complaint(server) == "close on accept came too late: another fault had ended its connection")
    }

    @Test("a fault for one exchange precedes a fault for every exchange, and verify accepts this")
    func every() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        try server.inject(Fault(.atRequestStart, .close), at: .every)
        try server.inject(Fault(.atRequestStart, .reset))
        for _ in 0..<2 { #expect(await self.ask(server) == "") }
        try await server.waitForFaults(2)
        #expect(server.committedFaults.map(\.fault.effect) == [.reset, .close])
        await server.shutdown()
        try server.verify()
    }

    @Test("a fault for every exchange that never happened is reported by verify")
    func never() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        try server.inject(Fault(.atResponseEnd, .close), at: .every)
        try server.inject(Fault(.atRequestStart, .close))
        #expect(await self.ask(server) == "")
        await server.shutdown()
        #expect(self.complaint(server)?.hasPrefix("close at the response's end came too late") == true)
    }

    @Test("a fault after a handshake that fails is reported by verify")
    func failedHandshake() async throws {
        let server = try await MockServer.start(.init(tls: ServerTLS([try .selfSigned()])))
        try server.inject(Fault(.afterHandshake, .close))
        let client = try await WireClient.connect(port: server.port)
        try await client.send(self.get)
        try await server.waitForConnections { $0.failedHandshakes == 1 }
        #expect(server.committedFaults == [])
        #expect(self.complaint(server) == "close after the handshake found no such moment in its connection")
    }

    @Test(
        "a fault of connections is refused for an exchange",
        arguments: [Fault.Trigger.onAccept, .afterHandshake],
        [Fault.Target.exchange(0), .exchange(1, onConnection: 0)])
    func refused(_ trigger: Fault.Trigger, _ target: Fault.Target) async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let error = #expect(throws: TestKitError.self) { try server.inject(Fault(trigger, .close), at: target) }
        #expect(
            error?.description == "\(Fault(trigger, .close)): a connection meets it, before there is any exchange")
        #expect(await self.ask(server).hasPrefix("HTTP/1.1 200"))
        try server.verify()
        await server.shutdown()
    }
}
