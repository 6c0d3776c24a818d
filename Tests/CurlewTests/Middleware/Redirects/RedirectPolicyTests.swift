import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Redirect policies", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RedirectPolicyTests {
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            for try await _ in request.body {}
            return request.path == "/" ? redirect(307, to: "/there") : MockResponse(body: "there")
        }
    }

    private func session(_ policy: Redirects.Policy) throws -> HTTPSession { try makeSession { Redirects(policy) } }

    @Test("a refused redirect is an error, whatever its status and target")
    func refuse() async throws {
        let server = try await server()
        let session = try session(.refuse)
        let error = await curlewError { _ = try await session.post(.raw(server.url()), .body(oneShot("x"))) }
        #expect(error?.code == .redirectRefused)
        #expect(error?.response?.status.code == 307)
        #expect(error?.response?.headerFields[.location] == "/there")
        #expect(server.requestCount == 1)
        #expect(try await session.fetch(server.url("/there")) == Array("there".utf8))
    }

    @Test(
        "the manual policy returns the redirect with its body, for a session or one request",
        arguments: [true, false])
    func manual(ofRequest: Bool) async throws {
        let server = try await server()
        var options = RequestOptions()
        if ofRequest { options.redirects = .manual }
        let response = try await session(ofRequest ? .follow : .manual).get(.raw(server.url()), options: options)
        #expect(response.status.code == 307)
        #expect(response.history.isEmpty)
        #expect(try await response.body.collect(upTo: 100) == Array("it is elsewhere".utf8))
    }

    @Test("a decision receives the redirect and the next request, and may change it")
    func change() async throws {
        let server = try await server()
        let (seen, report) = AsyncStream.makeStream(of: Redirects.Proposal.self)
        let policy = Redirects.Policy.decide { proposal in
            report.yield(proposal)
            var request = proposal.request
            request.fields[.mark] = "changed"
            request.uri = try request.uri.resolving("/elsewhere")
            return request
        }
        let response = try await session(policy).post(.raw(server.url()), .body(.string("x")))
        #expect(response.uri.path == "/elsewhere")
        report.finish()
        var proposals: [Redirects.Proposal] = []
        for await proposal in seen { proposals.append(proposal) }
        #expect(proposals.count == 1)
        #expect(proposals.first?.response.status.code == 307)
        #expect(proposals.first?.request.uri.path == "/there")
        #expect(proposals.first?.uri.path == "/")
        #expect(proposals.first?.crossesOrigins == false)
        _ = await server.takeRequest()
        let request = await server.takeRequest()
        #expect(request?.fields[.mark] == "changed")
        #expect(request?.method == .post && request?.text == "x")
    }

    @Test("a decision that returns nil returns the redirect as the response")
    func nothing() async throws {
        let server = try await server()
        let response = try await session(.decide { _ in nil }).get(.raw(server.url()))
        #expect(response.status.code == 307)
        #expect(try await response.body.collect(upTo: 100) == Array("it is elsewhere".utf8))
    }

    @Test("an error that a decision throws ends the call")
    func refusal() async throws {
        struct Refusal: Error {}
        let server = try await server()
        let session = try session(.decide { _ in throw Refusal() })
        #expect(await linkError { _ = try await session.get(.raw(server.url())) } is Refusal)
        #expect(server.requestCount == 1)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("fields set by a decision are sent to another origin, and the original secrets are not")
    func secrets() async throws {
        let other = try await MockServer.start { _ in MockResponse() }
        let server = try await server()
        let policy = Redirects.Policy.decide { proposal in
            var request = proposal.request
            request.uri = try CurlewURI(other.url())
            request.fields[.cookie] = "new=1"
            return request
        }
        let fields: HTTPFields = [.authorization: "Bearer old", .cookie: "old=1"]
        _ = try await session(policy).get(.raw(server.url()), fields: fields)
        let seen = try #require(await other.takeRequest())
        #expect(seen.fields[.authorization] == nil)
        #expect(seen.fields[.cookie] == "new=1")
    }

    @Test("a decision cannot exceed the limit of redirects, with or without a circle", arguments: [true, false])
    func bounds(inCircles: Bool) async throws {
        let server = try await MockServer.start { request in
            redirect(302, to: inCircles ? "/" : "\((Int(request.path.dropFirst()) ?? 0) + 1)")
        }
        let session = try session(.decide(maximum: 3) { $0.request })
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        #expect(error?.code == .tooManyRedirects)
        #expect(server.requestCount == 4)
    }
}
