import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("A closure that decides on challenges", .endsServers, .timeLimit(.minutes(1)))
struct AuthenticationDecisionTests {
    struct Declined: Error, Equatable {}

    private func server(accepting password: String) async throws -> MockServer {
        try await MockServer.start { request in
            if request.fields[.authorization] == "Bearer \(password)" { return MockResponse(body: "ok") }
            return MockResponse(status: .unauthorized, fields: [.wwwAuthenticate: "Bearer realm=\"birds\""])
        }
    }

    private func session(_ decide: @escaping ChallengeAuthentication.Decide) throws -> HTTPSession {
        try HTTPSession(configuration: SessionConfiguration(), chain: .bare) { ChallengeAuthentication(decide: decide) }
    }

    @Test("a decision receives the scheme, the realm and the number of failures, and may try again")
    func failures() async throws {
        let server = try await server(accepting: "third")
        let (attempts, report) = AsyncStream.makeStream(of: ChallengeAuthentication.Attempt.self)
        let session = try session { attempt in
            report.yield(attempt)
            return .use(.bearer(["first", "second", "third"][attempt.failureCount]))
        }
        #expect(try await session.get(.raw(server.url("/x"))).status == .ok)
        report.finish()
        var counts: [Int] = []
        for await attempt in attempts {
            counts.append(attempt.failureCount)
            #expect(attempt.scheme == .bearer)
            #expect(attempt.realm == "birds")
            #expect(!attempt.isProxy)
            #expect(attempt.response.status == .unauthorized)
            #expect(attempt.request.uri.path == "/x")
            #expect(attempt.request.fields[.authorization] == nil)
        }
        #expect(counts == [0, 1, 2])
    }

    @Test(
        "a refused challenge returns the 401, and a failed one throws the error of the decision")
    func refuse() async throws {
        let server = try await server(accepting: "x")
        #expect(try await session { _ in .refuse }.get(.raw(server.url())).status == .unauthorized)
        #expect(
            await linkError { _ = try await session { _ in .fail(Declined()) }.get(.raw(server.url())) } is Declined)
        #expect(await linkError { _ = try await session { _ in throw Declined() }.get(.raw(server.url())) } is Declined)
        #expect(server.requestCount == 3)
    }

    @Test("the default decision uses the link's own credential, once")
    func usual() async throws {
        let server = try await server(accepting: "own")
        for (token, status, requests) in [("own", HTTPResponse.Status.ok, 2), ("wrong", .unauthorized, 4)] {
            let credential = try Credential.Scoped(server.url(), .bearer(token))
            let session = try HTTPSession(configuration: SessionConfiguration(), chain: .bare) {
                ChallengeAuthentication(credential) { _ in .usual }
            }
            #expect(try await session.get(.raw(server.url())).status == status)
            #expect(server.requestCount == requests)
        }
        #expect(try await session { _ in .usual }.get(.raw(server.url())).status == .unauthorized)
    }

    @Test("a decision that always offers a credential ends at the limit of attempts")
    func endless() async throws {
        let server = try await server(accepting: "right")
        let session = try session { _ in .use(.bearer("wrong")) }
        #expect(try await session.get(.raw(server.url())).status == .unauthorized)
        #expect(server.requestCount == 1 + ChallengeAuthentication.attemptLimit)
    }

    @Test("a decision is called for a 401 without a challenge, for which no password is sent")
    func noChallenge() async throws {
        let server = try await MockServer.start { _ in MockResponse(status: .unauthorized) }
        let session = try session { attempt in
            #expect(attempt.challenge == nil)
            #expect(attempt.challenges.isEmpty)
            return .use(.password(user: "u", password: "p"))
        }
        #expect(try await session.get(.raw(server.url())).status == .unauthorized)
        #expect(server.requestCount == 1)
    }

    @Test("a request can be cancelled while the closure decides")
    func cancelled() async throws {
        let server = try await server(accepting: "x")
        let (asked, report) = AsyncStream.makeStream(of: Void.self)
        let session = try session { _ in
            report.yield()
            try await untilCancelled()
            return .refuse
        }
        let task = Task { try await session.get(.raw(server.url())) }
        for await _ in asked { break }
        task.cancel()
        #expect(await curlewError { _ = try await task.value }?.code == .cancelled)
    }
}
