import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@Suite("Retries", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RetryTests {
    private func server(_ statuses: Int...) async throws -> MockServer {
        let server = try await MockServer.start { request in
            for try await _ in request.body {}
            return MockResponse(body: "well")
        }
        for status in statuses { server.enqueue(MockResponse(status: .init(code: status), body: "not now")) }
        return server
    }

    @Test(
        "temporary statuses are retried, over the same connection",
        arguments: [408, 429, 500, 502, 503, 504])
    func statuses(_ status: Int) async throws {
        let server = try await server(status, status)
        let response = try await makeSession { quickRetry() }.get(.raw(server.url()))
        #expect(try await response.body.collect(upTo: 10) == Array("well".utf8))
        #expect(response.attempts == 3)
        #expect(server.requestCount == 3)
        #expect(server.connectionCounts.accepted == 1)
    }

    @Test(
        "a permanent status is the response",
        arguments: [200, 204, 304, 400, 401, 403, 404, 409, 410, 412, 418, 501, 505, 511])
    func otherStatuses(_ status: Int) async throws {
        let server = try await server(status)
        let response = try await makeSession { quickRetry() }.get(.raw(server.url()))
        #expect(response.status.code == status && response.attempts == 1)
        #expect(server.requestCount == 1)
    }

    @Test("the last response with its body is returned when all attempts fail")
    func lastAnswer() async throws {
        let server = try await server(503, 502, 500)
        let response = try await makeSession { quickRetry() }.get(.raw(server.url()))
        #expect(response.status.code == 500 && response.attempts == 3)
        #expect(try await response.body.collect(upTo: 10) == Array("not now".utf8))
    }

    @Test("a request may set its number of attempts", arguments: [0, 1, 2, 5])
    func maximumAttempts(_ maximum: Int) async throws {
        let server = try await server(503, 503, 503, 503)
        var options = RequestOptions()
        options.maximumAttempts = maximum
        let response = try await makeSession { quickRetry() }.get(.raw(server.url()), options: options)
        #expect(response.attempts == max(1, maximum))
        #expect(response.status.code == (maximum == 5 ? 200 : 503))
    }

    @Test(
        "only a request that is idempotent, or marked as idempotent, is sent again",
        arguments: [
            ("GET", nil, 2), ("HEAD", nil, 2), ("PUT", nil, 2), ("DELETE", nil, 2), ("OPTIONS", nil, 2),
            ("QUERY", nil, 2), ("QUERY", false, 1),
            ("POST", nil, 1), ("PATCH", nil, 1), ("POST", true, 2), ("PATCH", true, 2), ("GET", false, 1),
        ] as [(String, Bool?, Int)])
    func idempotence(_ method: String, _ mark: Bool?, _ attempts: Int) async throws {
        let server = try await server(503)
        var options = RequestOptions()
        options.isIdempotent = mark
        let body: CurlewRequest.Body = ["PUT", "POST", "PATCH", "QUERY"].contains(method) ? .string("curlew") : .none
        let response = try await makeSession { quickRetry() }
            .send(HTTPRequest.Method(method)!, .raw(server.url()), .body(body), options: options)
        #expect(response.attempts == attempts)
        #expect(server.requestCount == attempts)
        for _ in 0..<attempts { #expect(await server.takeRequest()?.text == (body.isNone ? "" : "curlew")) }
        await server.shutdown()
    }

    @Test(
        "any method is retried after a 429 or 503 with Retry-After",
        arguments: [429, 503], [HTTPRequest.Method.post, .patch])
    func refusedUnprocessed(_ status: Int, _ method: HTTPRequest.Method) async throws {
        let server = try await server()
        server.enqueue(MockResponse(status: .init(code: status), fields: [.retryAfter: "0"]))
        let response = try await makeSession { quickRetry() }.send(method, .raw(server.url()), .body(.string("curlew")))
        #expect(response.status == .ok && response.attempts == 2)
        for _ in 0..<2 { #expect(await server.takeRequest()?.text == "curlew") }
    }

    @Test(
        "a POST is not retried without a valid Retry-After, after another status, or if marked as not idempotent",
        arguments: [
            (503, nil, nil), (429, nil, nil), (503, "soon", nil), (500, "0", nil), (408, "0", nil), (502, "0", nil),
            (503, "0", false),
        ] as [(Int, String?, Bool?)])
    func postWithRetryAfter(_ status: Int, _ retryAfter: String?, _ mark: Bool?) async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.init(code: status), fields: retryAfter.map { [.retryAfter: $0] } ?? [:]))
        var options = RequestOptions()
        options.isIdempotent = mark
        let session = try HTTPSession(transport: stub, chain: .bare) { quickRetry() }
        let response = try await session.post("http://a.test/", .body(.string("x")), options: options)
        #expect(response.status.code == status && response.attempts == 1)
    }

    @Test("a single-use body is not sent again after a 503 with Retry-After")
    func oneShotWithRetryAfter() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.serviceUnavailable, fields: [.retryAfter: "0"]))
        let session = try HTTPSession(transport: stub, chain: .bare) { quickRetry() }
        #expect(try await session.post("http://a.test/", .body(oneShot("x"))).attempts == 1)
    }

    @Test("a single-use body is not sent again, and a repeatable body is sent again completely")
    func bodies() async throws {
        let server = try await server(503)
        let session = try makeSession { quickRetry() }
        let once = try await session.put(.raw(server.url()), .body(oneShot("once")))
        #expect(once.status == .serviceUnavailable && once.attempts == 1)
        server.enqueue(MockResponse(status: .serviceUnavailable))
        let body = CurlewRequest.Body.stream {
            AsyncStream<[UInt8]> { chunks in
                chunks.yield(Array("anew".utf8))
                chunks.finish()
            }
        }
        #expect(try await session.put(.raw(server.url()), .body(body)).attempts == 2)
        _ = await server.takeRequest()
        for _ in 0..<2 { #expect(await server.takeRequest()?.text == "anew") }
    }

    @Test("a connection reset before or within the head is retried", arguments: [true, false])
    func resets(beforeHead: Bool) async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.readHead()
            guard connection.index == 0 else {
                return try await connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell")
            }
            if !beforeHead { try await connection.write("HTTP/1.1 200 OK\r\nContent-Len") }
            await connection.reset()
        }
        let response = try await makeSession { quickRetry() }.get(.raw(server.url()))
        #expect(try await response.body.collect(upTo: 10) == Array("well".utf8))
        #expect(response.attempts == 2)
    }

    @Test("a POST is not sent again after a reset, unless it is marked as idempotent", arguments: [true, false])
    func resetPost(isMarked: Bool) async throws {
        let server = try await server()
        try server.inject(Fault(.atResponseStart, .reset))
        var options = RequestOptions()
        if isMarked { options.isIdempotent = true }
        let session = try makeSession { quickRetry() }
        if isMarked {
            let response = try await session.post(.raw(server.url()), .body(.string("x")), options: options)
            #expect(response.attempts == 2)
        } else {
            let error = await curlewError {
                _ = try await session.post(.raw(server.url()), .body(.string("x")), options: options)
            }
            #expect(error?.code == .connectionLost && error?.attempts == 1)
        }
        try await server.waitForRequests(isMarked ? 2 : 1)
        await server.shutdown()
        try await session.expectUsable()
    }

    @Test("any method is retried after a refused connection", arguments: ["GET", "POST", "PATCH"])
    func refused(_ method: String) async throws {
        let refused = try RefusedPort.unused()
        let server = try await server()
        let detour = try Detour(refused.url(), refused.url())
        let session = try makeSession {
            quickRetry()
            detour
        }
        let body: CurlewRequest.Body = method == "GET" ? .none : .string("x")
        let response = try await session.send(HTTPRequest.Method(method)!, .raw(server.url()), .body(body))
        #expect(response.status == .ok && response.attempts == 3)
        #expect(server.requestCount == 1)
    }

    @Test("the error has the number of attempts when every connection is refused")
    func alwaysRefused() async throws {
        let refused = try RefusedPort.unused()
        let session = try makeSession { quickRetry(4) }
        let error = await curlewError { _ = try await session.get(.raw(refused.url())) }
        #expect(error?.code == .connectionRefused)
        #expect(error?.attempts == 4)
        try await session.expectUsable()
    }

    @Test("a permanent failure is not retried")
    func lasting() async throws {
        let server = try await rawAnswer("garbage\r\n\r\n")
        let session = try makeSession { quickRetry() }
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        #expect(error?.code == .invalidResponse && error?.attempts == 1)
        #expect(server.accepted == 1)
        let invalid = await curlewError { _ = try await session.get(.raw(server.url()), fields: [.contentLength: "x"]) }
        #expect(invalid?.code == .invalidRequest && invalid?.attempts == 1)
    }

    @Test("an error of another type than Curlew's is not retried")
    func foreignError() async throws {
        struct Foreign: Error {}
        let stub = StubTransport()
        stub.enqueue(.failure(Foreign()))
        let session = try HTTPSession(transport: stub, chain: .bare) { quickRetry() }
        #expect(await linkError { _ = try await session.get("http://a.test/") } is Foreign)
        #expect(stub.received.count == 1)
    }

    @Test(
        "a response with a long or endless body does not delay the next attempt",
        arguments: [true, false])
    func unwantedBodies(isLong: Bool) async throws {
        let server = try await server()
        var response = MockResponse(status: .serviceUnavailable)
        response.body =
            isLong
            ? .pattern(count: 8 << 20)
            : .stream { writer in
                try await writer.write("not")
                try await untilCancelled()
            }
        server.enqueue(response)
        let session = try makeSession { quickRetry() }
        #expect(try await session.fetch(server.url()) == Array("well".utf8))
        #expect(server.connectionCounts.accepted == 2)
        try await server.waitForConnections(open: 1)
    }

    @Test("a retrying link inside redirects retries each hop by its own method")
    func hops() async throws {
        let server = try await server()
        server.enqueue(
            redirect(303, to: "/result"), MockResponse(status: .badGateway), MockResponse(body: "well"))
        let session = try makeSession {
            Redirects()
            quickRetry()
        }
        let response = try await session.post(.raw(server.url("/job")), .body(.string("x")))
        #expect(response.status == .ok)
        #expect(response.attempts == 2)
        #expect(response.history.map(\.attempts) == [1])
        #expect(server.requestCount == 3)
    }
}
