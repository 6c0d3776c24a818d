import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Testing

private struct Report: Codable, Sendable { let degrees: Double }

/// The code under test. It takes its session from outside.
private struct Weather: Sendable {
    let api: HTTPSession

    func degrees(at place: String) async throws -> Double? {
        do {
            return try await api.get("places/\(place)", as: Report.self).degrees
        } catch let error as CurlewError where error.status == .notFound {
            return nil
        }
    }
}

/// Tests of a user's client: without a network, with a test clock, over failing sockets, and from a recording.
@Suite("A weather client", .noLeaks, .timeLimit(.minutes(1)))
struct OwnTests {
    private let base = "https://weather.example.com/"

    @Test("a place that the service does not know has no temperature")
    func unknown() async throws {
        let stub = StubTransport()
        stub.on(.get, "/places/Texel", answer: try .json(Report(degrees: 7.5)))
        stub.on(.get, "/places/*", answer: .response(.notFound))
        let weather = Weather(api: try HTTPSession(baseURL: base, transport: stub))
        #expect(try await weather.degrees(at: "Texel") == 7.5)
        #expect(try await weather.degrees(at: "a/b") == nil)
        #expect(stub.received.map(\.path) == ["/places/Texel", "/places/a%2Fb"])
        try stub.verify()
    }

    @Test("a request to a busy service is repeated after the time that the service names")
    func busy() async throws {
        let clock = TestClock()
        let stub = StubTransport()
        stub.enqueue(.response(.serviceUnavailable, fields: [.retryAfter: "30"]), try .json(Report(degrees: 7.5)))
        var chain = StandardChain.Options()
        chain.retry = Retry(clock: clock)
        let weather = Weather(api: try HTTPSession(baseURL: base, transport: stub, chain: chain))
        let call = Task { try await weather.degrees(at: "Texel") }
        #expect(try await clock.advanceToNextSleeper() >= .seconds(30))
        #expect(try await call.value == 7.5)
    }

    @Test("a report that breaks off is an error, and the next report is complete")
    func truncated() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.contentType: "application/json"], body: #"{"degrees":7.5}"#)
        }
        try server.inject(Fault(.inResponseBody(after: 5), .close))
        let weather = Weather(api: try HTTPSession(baseURL: server.url()))
        let error = await #expect(throws: CurlewError.self) { try await weather.degrees(at: "Texel") }
        #expect(error?.code == .responseTruncated)
        #expect(try await weather.degrees(at: "Texel") == 7.5)
        await server.shutdown()
    }

    @Test("a recording answers as the service did")
    func recording() async throws {
        let path = NSTemporaryDirectory() + "weather-\(UUID()).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let service = StubTransport { _ in try .json(Report(degrees: 7.5)) }
        for mode in [CassetteTransport.Mode.record, .replay] {
            let cassette = try CassetteTransport(path, mode: mode, over: service)
            let weather = Weather(api: try HTTPSession(baseURL: base, transport: cassette))
            #expect(try await weather.degrees(at: "Texel") == 7.5)
            try await cassette.finish()
        }
        #expect(service.received.count == 1)
    }
}
