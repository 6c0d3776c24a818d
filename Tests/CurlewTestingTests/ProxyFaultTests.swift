import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import NIOCore
import Testing

@Suite("Faults of a MockProxy", .noLeaks, .timeLimit(.minutes(1)))
struct ProxyFaultTests {
    private static let effects: [Fault.Effect] = [.close, .reset, .halfClose, .stall, .garbage([1, 2, 3])]
    private static let triggers: [Fault.Trigger] = [
        .onAccept, .atRequestStart, .inRequestBody(after: 3), .atResponseStart, .inResponseBody(after: 0),
        .inResponseBody(after: 50), .atResponseEnd,
    ]
    private static let faults = triggers.flatMap { trigger in effects.map { Fault(trigger, $0) } }

    /// The range of bytes that the client receives of the tunnel until the fault, its answer and the response included.
    private func expectedBytes(_ trigger: Fault.Trigger) -> ClosedRange<Int> {
        let answer = "HTTP/1.1 200 Connection established\r\n\r\n".utf8.count
        switch trigger {
        case .inRequestBody(after: 3), .inResponseBody(after: 0): return answer...answer
        case .inResponseBody(after: 50): return (answer + 50)...(answer + 50)
        case .atResponseEnd: return (answer + 51)...10_000
        default: return 0...0
        }
    }

    @Test("each fault applies to a tunnel at its phase, after exactly its number of bytes", arguments: faults)
    func tunnel(_ fault: Fault) async throws {
        let server = try await MockServer.start { _ in
            var response = MockResponse(body: .pattern(count: 1000))
            response.closesConnection = true
            return response
        }
        let proxy = try await MockProxy.start()
        try proxy.inject(fault)
        // A reset on accept may precede the client's check of its connection.
        if let client = try? await WireClient.connect(port: proxy.port) {
            try await self.use(client, to: server.port, proxy, fault)
        }
        try await proxy.waitForConnections { $0.open == 0 }
        #expect(proxy.committedFaults.map(\.fault) == [fault])
        try proxy.verify()
    }

    /// Opens the tunnel, sends a request through it, and reads until the fault has ended it.
    private func use(_ client: WireClient, to port: Int, _ proxy: MockProxy, _ fault: Fault) async throws {
        let expected = self.expectedBytes(fault.trigger)
        var answer = 0
        try? await client.send("CONNECT localhost:\(port) HTTP/1.1\r\n\r\n")
        if expected.lowerBound > 0, let head = try? await client.receive(through: "\r\n\r\n") {
            answer = head.utf8.count
            try? await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        }
        try await proxy.waitForFaults(1)
        let garbage: [UInt8] = fault.effect == .garbage([1, 2, 3]) ? [1, 2, 3] : []
        // After a stall no bytes arrive; bytes before a reset may be unread.
        if fault.effect != .stall, let rest = try? await client.receiveAll(), fault.effect != .reset {
            #expect(expected.contains(answer + rest.count - garbage.count))
            #expect(rest.suffix(garbage.count) == garbage[...])
        }
        try await client.close()
    }

    @Test(
        "a fault that a proxy cannot perform is refused",
        arguments: [Fault.Effect.goAway(.noError), .resetStream(.cancel)])
    func impossible(_ effect: Fault.Effect) async throws {
        let proxy = try await MockProxy.start()
        #expect(throws: TestKitError.self) { try proxy.inject(Fault(.atResponseStart, effect)) }
        #expect(throws: TestKitError.self) { try proxy.inject(Fault(.atResponseStart, .truncatedTLS)) }
        try proxy.verify()
    }

    @Test("a request in absolute form meets faults too, and its head is not counted")
    func absoluteForm() async throws {
        let server = try await MockServer.start { MockResponse(body: .bytes(try await $0.body.collect())) }
        let proxy = try await MockProxy.start()
        try proxy.inject(Fault(.inRequestBody(after: 4), .close))
        let client = try await WireClient.connect(port: proxy.port)
        try await client.send("PUT http://x:\(server.port)/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc")
        try await client.send("de")
        #expect(try await client.receiveAll() == [])
        #expect(await proxy.takeRequest()?.method == "PUT")
        #expect(proxy.committedFaults.count == 1)
    }
}
