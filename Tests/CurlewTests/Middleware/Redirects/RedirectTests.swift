import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Following redirects within limits", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RedirectTests {
    /// A server that counts down: `/3` redirects to `/2`, and `/0` exists.
    private func countdown() async throws -> MockServer {
        try await MockServer.start { request in
            guard let number = Int(request.path.dropFirst()), number > 0 else { return MockResponse(body: "there") }
            return redirect([301, 302, 303, 307, 308][number % 5], to: "\(number - 1)")
        }
    }

    @Test("the response has the history of its redirects, which used one connection")
    func history() async throws {
        let server = try await countdown()
        let session = try makeSession { Redirects() }
        let response = try await session.get(.raw(server.url("/5")))
        #expect(try await response.body.collect(upTo: 10) == Array("there".utf8))
        #expect(response.uri.path == "/0")
        #expect(response.history.map(\.uri.path) == ["/5", "/4", "/3", "/2", "/1"])
        #expect(response.history.map(\.status.code) == [301, 308, 307, 303, 302])
        #expect(response.history.map { $0.fields[.location] } == ["4", "3", "2", "1", "0"])
        #expect(response.history.allSatisfy { $0.attempts == 1 })
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("twenty redirects are followed, and one more is an error")
    func maximum() async throws {
        let server = try await countdown()
        let session = try makeSession { Redirects() }
        #expect(try await session.get(.raw(server.url("/20"))).history.count == 20)
        let error = await curlewError { _ = try await session.get(.raw(server.url("/21"))) }
        #expect(error?.code == .tooManyRedirects)
        #expect(error?.history.count == 20)
        #expect(error?.uri?.path == "/1")
        #expect(server.requestCount == 21 + 21)
        var options = RequestOptions()
        options.redirects = .follow(maximum: 2)
        let few = await curlewError { _ = try await session.get(.raw(server.url("/3")), options: options) }
        #expect(few?.code == .tooManyRedirects && few?.history.count == 2)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("circular redirects are followed up to the limit", arguments: ["/self", "/a"])
    func circles(_ start: String) async throws {
        let ways = ["/self": "/self", "/a": "/b", "/b": "/c#f", "/c": "/a"]
        let server = try await MockServer.start { redirect(302, to: ways[$0.path]) }
        let session = try makeSession { Redirects(.follow(maximum: 5)) }
        let error = await curlewError { _ = try await session.get(.raw(server.url(start))) }
        #expect(error?.code == .tooManyRedirects && error?.history.count == 5)
        #expect(server.requestCount == 6)
    }

    @Test("a repeated URL is requested again, because its response may have changed")
    func comesAgain() async throws {
        let server = try await MockServer.start()
        let session = try makeSession { Redirects() }
        server.enqueue(redirect(302, to: "/b"), redirect(302, to: "/a"), MockResponse(body: "there"))
        let response = try await session.get(.raw(server.url("/a")))
        #expect(try await response.body.collect(upTo: 10) == Array("there".utf8))
        #expect(response.history.count == 2)
        server.enqueue(redirect(302, to: "/same"), redirect(307, to: ""), MockResponse())
        #expect(try await session.get(.raw(server.url("/same"))).history.count == 2)
    }

    @Test("a redirect to the same URI is followed after a change of the method, and after a cookie")
    func noLoop() async throws {
        let server = try await MockServer.start()
        let session = try makeSession { Redirects() }
        server.enqueue(redirect(303, to: "/form"), MockResponse(body: "sent"))
        let posted = try await session.post(.raw(server.url("/form")), .body(.string("x")))
        #expect(try await posted.body.collect(upTo: 10) == Array("sent".utf8))
        let cookie: HTTPFields = [.setCookie: "a=1"]
        server.enqueue(redirect(302, to: "/login", cookie), redirect(302, to: "/login", cookie), MockResponse())
        #expect(try await session.get(.raw(server.url("/login"))).history.count == 2)
    }

    @Test(
        "a 3xx without a Location, or with an unsupported status, is the response",
        arguments: [300, 301, 302, 303, 304, 305, 306, 307, 308, 399])
    func notFollowed(_ status: Int) async throws {
        let isRedirect = [301, 302, 303, 307, 308].contains(status)
        let server = try await MockServer.start { _ in redirect(status, to: isRedirect ? nil : "/elsewhere") }
        let response = try await makeSession { Redirects() }.get(.raw(server.url()))
        #expect(response.status.code == status)
        #expect(response.history.isEmpty)
        #expect(try await response.body.collect(upTo: 100).isEmpty == (status == 304))
        #expect(server.requestCount == 1)
    }

    @Test(
        "a redirect with a long or endless body does not delay the call",
        arguments: [true, false])
    func unwantedBodies(isLong: Bool) async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/" else { return MockResponse(body: "there") }
            var response = redirect(302, to: "/there")
            response.body =
                isLong
                ? .pattern(count: 8 << 20)
                : .stream { writer in
                    try await writer.write("it is")
                    try await untilCancelled()
                }
            return response
        }
        let session = try makeSession { Redirects() }
        #expect(try await session.fetch(server.url()) == Array("there".utf8))
        #expect(server.connectionCounts.accepted == 2)
        try await server.waitForConnections(open: 1)
    }

    @Test(
        "redirects are followed over HTTP/2 on one connection, whatever the length of their bodies",
        arguments: [10, 1 << 20])
    func http2(_ length: Int) async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/" else { return MockResponse(body: "there") }
            var response = redirect(302, to: "/there")
            response.body = .pattern(count: length)
            return response
        }
        let session = try makeSession(versionPolicy: .http2PriorKnowledge) { Redirects() }
        let response = try await session.get(.raw(server.url()))
        #expect(response.version == .http2)
        #expect(try await response.body.collect(upTo: 10) == Array("there".utf8))
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test("the caller's total timeout covers all hops")
    func deadline() async throws {
        let server = try await MockServer.start { request in
            guard let number = Int(request.path.dropFirst()) else { return .notFound }
            var response = redirect(302, to: "\(number + 1)")
            response.headDelay = .milliseconds(100)
            return response
        }
        let session = try makeSession { Redirects(.follow(maximum: 1000)) }
        var options = RequestOptions()
        options.totalTimeout = .milliseconds(450)
        let error = await curlewError { _ = try await session.get(.raw(server.url("/0")), options: options) }
        #expect(error?.code == .totalTimeout)
        #expect((error?.history.count ?? 99) < 5)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("each hop has the rest of the total timeout")
    func remaining() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.found, fields: [.location: "/b"]), .response(.ok))
        let session = try HTTPSession(transport: stub, chain: .bare) { Redirects() }
        var options = RequestOptions()
        options.totalTimeout = .seconds(100)
        _ = try await session.get("http://a.test/", options: options)
        let limits = stub.received.compactMap(\.request.options.totalTimeout)
        #expect(limits.count == 2)
        #expect(limits[0] == .seconds(100) && limits[1] < .seconds(100) && limits[1] > .zero)
    }

    @Test("cancelling the call ends the running hop")
    func cancellation() async throws {
        let server = try await MockServer.start { request in
            if request.path == "/" { return redirect(302, to: "/stall") }
            try await untilCancelled()
            return MockResponse()
        }
        let session = try makeSession { Redirects() }
        let call = Task { try await session.get(.raw(server.url())) }
        try await server.waitForRequests(2)
        call.cancel()
        let error = await curlewError { _ = try await call.value }
        #expect(error?.code == .cancelled)
        #expect(error?.history.count == 1)
        try await server.waitForConnections(open: 0)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("an error after redirects contains their history")
    func failure() async throws {
        let refused = try RefusedPort.unused()
        let server = try await MockServer.start { _ in redirect(302, to: refused.url("/gone")) }
        let session = try makeSession { Redirects() }
        let error = await curlewError { _ = try await session.get(.raw(server.url("/start"))) }
        #expect(error?.code == .connectionRefused)
        #expect(error?.uri?.path == "/gone")
        #expect(error?.history.map(\.uri.path) == ["/start"])
    }
}
