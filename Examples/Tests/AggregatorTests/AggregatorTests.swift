import Curlew
import CurlewTesting
import CurlewTestingTraits
import Glibc
import HTTPTypes
import ServiceLifecycle
import Testing

@testable import Aggregator

@Suite("A server that assembles pages", .timeLimit(.minutes(1)))
struct AggregatorTests {
    private static func json(_ text: String) -> MockResponse {
        MockResponse(fields: [.contentType: "application/json"], body: .bytes(Array(text.utf8)))
    }

    private static let curlew = json(#"{"name":"Numenius arquata","family":"Scolopacidae"}"#)
    private static let places = json(#"[{"place":"Texel"},{"place":"Sylt"}]"#)
    private static let wind = json(#"{"wind":7.5}"#)

    @Test("a page asks its three upstreams concurrently, and later pages reuse the connections")
    func together() async throws {
        // Each of the three upstreams answers only after all have been asked.
        let asked = Gathering(of: 3)
        let kitchen = try await Kitchen.start(
            species: { _ in try await asked.arrive(Self.curlew) },
            sightings: { _ in try await asked.arrive(Self.places) },
            weather: { _ in try await asked.arrive(Self.wind) })
        let expected = BirdPage(
            species: .init(name: "Numenius arquata", family: "Scolopacidae"),
            sightings: [.init(place: "Texel"), .init(place: "Sylt")], weather: .init(wind: 7.5), missing: [])
        for _ in 0..<3 {
            #expect(try await kitchen.client.get("birds/curlew", as: BirdPage.self) == expected)
        }
        #expect(kitchen.upstreams.map(\.connectionCounts.accepted) == [1, 1, 1])
        try await kitchen.close()
    }

    @Test(
        "a page is served without an upstream that fails",
        arguments: [HTTPResponse.Status.internalServerError, .notFound])
    func failing(_ status: HTTPResponse.Status) async throws {
        let kitchen = try await Kitchen.start(
            species: { _ in Self.curlew }, sightings: { _ in MockResponse(status: status) }, weather: { _ in Self.wind }
        )
        let page = try await kitchen.client.get("birds/curlew", as: BirdPage.self)
        #expect(page.missing == ["sightings"])
        #expect(page.weather?.wind == 7.5)
        try await kitchen.close()
    }

    @Test("a page is served without an upstream that is too slow")
    func slow() async throws {
        let never = TestClock()
        let kitchen = try await Kitchen.start(
            deadline: .milliseconds(300), species: { _ in Self.curlew }, sightings: { _ in Self.places },
            weather: { _ in
                try await never.sleep(for: .seconds(1))
                return Self.wind
            })
        let page = try await kitchen.client.get("birds/curlew", as: BirdPage.self)
        #expect(page.missing == ["weather"])
        try await kitchen.close()
    }

    @Test(
        "a page whose species cannot be fetched is an error",
        arguments: [(HTTPResponse.Status.notFound, 404), (.internalServerError, 502), (.ok, 502)])
    func missing(_ status: HTTPResponse.Status, _ expected: Int) async throws {
        let kitchen = try await Kitchen.start(
            species: { _ in MockResponse(status: status) }, sightings: { _ in Self.places }, weather: { _ in Self.wind }
        )
        #expect(try await kitchen.client.get("birds/curlew").status.code == expected)
        try await kitchen.close()
    }

    @Test(
        "a name with characters that have a meaning in a URL is refused",
        arguments: ["a%2Fb", "..%2Fx", "a%3Fb", "A", "%00"])
    func name(_ text: String) async throws {
        let kitchen = try await Kitchen.start(
            species: { _ in Self.curlew }, sightings: { _ in Self.places }, weather: { _ in Self.wind })
        #expect(try await kitchen.client.get("birds/\(text)").status == .badRequest)
        #expect(kitchen.upstreams.map(\.connectionCounts.accepted) == [0, 0, 0])
        try await kitchen.close()
    }

    @Test("upstream requests end when the client hangs up")
    func hangUp() async throws {
        let never = TestClock()
        let (asked, tell) = AsyncStream.makeStream(of: Void.self)
        let (ended, tellEnd) = AsyncStream.makeStream(of: Void.self)
        let stalled: MockServer.Handler = { _ in
            tell.yield()
            do {
                try await never.sleep(for: .seconds(1))
            } catch {
                tellEnd.yield()
                throw error
            }
            return Self.wind
        }
        let kitchen = try await Kitchen.start(
            deadline: .seconds(50), species: stalled, sightings: stalled, weather: stalled)
        let client = kitchen.client
        let call = Task { try await client.get("birds/curlew") }
        var questions = asked.makeAsyncIterator()
        for _ in 0..<3 { await questions.next(isolation: #isolation) }
        call.cancel()
        await #expect(throws: CurlewError.self) { try await call.value }
        var ends = ended.makeAsyncIterator()
        for _ in 0..<3 { await ends.next(isolation: #isolation) }
        try await kitchen.close()
    }

    @Test("graceful shutdown answers the running requests and then ends")
    func graceful() async throws {
        let gate = TestClock()
        let (asked, tell) = AsyncStream.makeStream(of: Void.self)
        let kitchen = try await Kitchen.start(
            deadline: .seconds(50), species: { _ in Self.curlew }, sightings: { _ in Self.places },
            weather: { _ in
                tell.yield()
                try await gate.sleep(for: .seconds(1))
                return Self.wind
            })
        let client = kitchen.client
        let call = Task { try await client.get("birds/curlew", as: BirdPage.self) }
        for await _ in asked { break }
        try await gate.waitForSleepers()
        await kitchen.group.triggerGracefulShutdown()
        gate.advance(by: .seconds(1))
        #expect(try await call.value.missing == [])
        try await kitchen.close()
    }

    @Test("SIGTERM lets the program answer the running request and exit with 0")
    func terminate() async throws {
        let gate = TestClock()
        let kinds: [MockServer.Handler] = [
            { _ in Self.curlew }, { _ in Self.places },
            { _ in
                try await gate.sleep(for: .seconds(1))
                return Self.wind
            },
        ]
        var upstreams: [MockServer] = []
        for kind in kinds { upstreams.append(try await MockServer.start(handler: kind)) }
        let program = try AggregatorProcess(["0"] + upstreams.map { $0.url("/part") })
        let url = try #require(await program.nextLine())
        let client = try HTTPSession(baseURL: url, chain: .bare)
        let call = Task { try await client.get("birds/curlew", as: BirdPage.self) }
        try await gate.waitForSleepers()
        program.send(SIGTERM)
        try await eventually("nobody else is let in") { await refuses(url) }
        gate.advance(by: .seconds(1))
        #expect(try await call.value.species.name == "Numenius arquata")
        await client.shutdown()
        #expect(await program.status() == 0)
        for upstream in upstreams { await upstream.shutdown() }
    }

    /// True if connections are refused.
    private func refuses(_ url: String) async -> Bool {
        guard let stranger = try? HTTPSession(chain: .bare) else { return false }
        let outcomes = await stranger.warmUp([url])
        await stranger.shutdown()
        return outcomes.first?.error?.isConnectFailure == true
    }
}
