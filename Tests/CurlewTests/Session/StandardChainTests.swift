import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Logging
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("The standard chain", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct StandardChainTests {
    private func options(_ logger: Logger? = nil) -> StandardChain.Options {
        var options = StandardChain.Options(logger: logger)
        options.retry?.policy.backoff = Retry.Backoff(base: .zero)
        return options
    }

    @Test("the standard chain follows redirects, retries and logs, in this order")
    func order() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            MockResponse(status: .badGateway), redirect(302, to: "/there"),
            MockResponse(status: .serviceUnavailable), MockResponse(body: "there"))
        let log = RecordingLog()
        let session = try HTTPSession(
            baseURL: server.url(), eventLoops: [CurlewEventLoop(name: "curlew-test")],
            chain: options(log.logger(.debug)))
        let response = try await session.get("here")
        #expect(try await response.body.collect(upTo: 10) == Array("there".utf8))
        #expect(response.history.map(\.attempts) == [2])
        #expect(response.attempts == 2)
        #expect(log.lines.map(\.message) == ["request", "sending again", "redirected", "sending again", "response"])
    }

    @Test("a credential added before the standard chain does not reach another origin")
    func credentials() async throws {
        let other = try await MockServer.start { _ in MockResponse() }
        let server = try await MockServer.start { _ in redirect(302, to: other.url()) }
        let session = try makeSession {
            ReadmeSnippets.BearerToken(token: "secret")
            StandardChain(options())
        }
        _ = try await session.get(.raw(server.url()))
        #expect(await server.takeRequest()?.fields[.authorization] == "Bearer secret")
        #expect(await other.takeRequest()?.fields[.authorization] == nil)
    }

    @Test("retries and redirects of the standard chain can be turned off")
    func off() async throws {
        let server = try await MockServer.start { _ in redirect(302, to: "/there") }
        server.enqueue(MockResponse(status: .badGateway))
        var options = options()
        options.retry = nil
        options.redirects.policy = .manual
        let session = try makeSession { [options] in StandardChain(options) }
        #expect(try await session.get(.raw(server.url())).status == .badGateway)
        #expect(try await session.get(.raw(server.url())).status == .found)
        #expect(server.requestCount == 2)
    }

    @Test("a hedging link after the standard chain works inside it")
    func hedging() async throws {
        let clock = TestClock()
        let server = try await MockServer.start { request in
            if request.connectionIndex == 0 { try await untilCancelled() }
            return MockResponse()
        }
        let session = try makeSession {
            StandardChain(options())
            Hedging(after: .seconds(1), clock: clock)
        }
        let call = Task { try await session.get(.raw(server.url())).attempts }
        try await server.waitForRequests(1)
        try await clock.advanceToNextSleeper()
        #expect(try await call.value == 2)
    }

    /// Sets a cookie with each response, and returns the cookies of the second of two requests.
    private func cookiesSentBack(_ options: StandardChain.Options) async throws -> String? {
        let stub = StubTransport { _ in .response(.ok, fields: [.setCookie: "user=a"]) }
        let session = try HTTPSession(transport: stub, chain: .bare) { StandardChain(options) }
        for _ in 0..<2 { _ = try await session.get("http://a.test/") }
        return stub.received.last?.request.fields[.cookie]
    }

    @Test("the standard chain keeps no cookies, unless it is created for a single user")
    func cookies() async throws {
        #expect(try await cookiesSentBack(StandardChain.Options()) == nil)
        #expect(try await cookiesSentBack(.singleUser) == "user=a")
        let jars = [StandardChain.Options.singleUser, .singleUser].map { $0.cookies?.jar }
        #expect(jars[0] !== jars[1])
    }

    @Test("a cookie of a challenge is sent with the answer to it")
    func challengeCookie() async throws {
        let guardian = DigestGuard()
        let server = try await MockServer.start { request in
            if request.fields[.authorization] != nil, request.fields[.cookie] != "challenge=1" {
                return MockResponse(status: .forbidden, body: "whose challenge is that?")
            }
            var response = try await guardian.answer(request)
            if response.status == .unauthorized { response.fields[.setCookie] = "challenge=1" }
            return response
        }
        var options = StandardChain.Options.singleUser
        options.authentication = ChallengeAuthentication(
            try Credential.Scoped(server.url(), .password(user: "user", password: "pass word")))
        let session = try makeSession { [options] in StandardChain(options) }
        for _ in 0..<2 { #expect(try await session.get(.raw(server.url())).status == .ok) }
        #expect(await guardian.challengesSent == 1)
        #expect(server.requestCount == 3)
    }
}
