import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Closures as links", .noLeaks, .timeLimit(.minutes(1)))
struct LinkTests {
    private let stub = StubTransport { request in
        .response(.ok, fields: [.mark: request.request.fields[.mark] ?? "none"])
    }

    @Test("a closure among links receives requests and responses in the order of the chain")
    func order() async throws {
        let steps = Guarded<[String]>([])
        let session = try HTTPSession(transport: stub, chain: .bare) {
            Link { request, next in
                steps.withLock { $0.append("outer") }
                let response = try await next(request)
                steps.withLock { $0.append("outer \(response.status.code)") }
                return response
            }
            quickRetry()
            Link { request, next in
                steps.withLock { $0.append("inner") }
                return try await next(request)
            }
        }
        stub.enqueue(.response(.serviceUnavailable))
        _ = try await session.get("http://a.test/")
        #expect(steps.withLock { $0 } == ["outer", "inner", "inner", "outer 200"])
    }

    @Test("a closure may change the request and the response")
    func mutation() async throws {
        let session = try HTTPSession(transport: stub, chain: .bare) {
            Link { request, next in
                var request = request
                request.fields[.mark] = "in"
                var response = try await next(request)
                response.fields[.mark] = (response.fields[.mark] ?? "") + " out"
                return response
            }
        }
        #expect(try await session.get("http://a.test/").fields[.mark] == "in out")
    }

    @Test("a single-expression `Link` works with `if` and `if`/`else` in a chain")
    func conditions() async throws {
        let link: Link? = Link { try await $1($0) }
        for flag in [true, false] {
            let session = try HTTPSession(transport: stub, chain: .bare) {
                if flag { Link { request, next in try await next(request) } }
                link
            }
            #expect(try await session.get("http://a.test/").status == .ok)
        }
    }

    @Test("a closure may answer by itself, may call the rest twice, and may throw")
    func shortcuts() async throws {
        let session = try HTTPSession(transport: stub, chain: .bare) {
            Link { request, next in
                if request.method == .post { throw CurlewError(.unsupported, "no POST here") }
                _ = try await next(request)
                return try await next(request)
            }
            Link { request, next in
                guard request.uri.path != "/cached" else { return CurlewResponse(.notModified, uri: request.uri) }
                return try await next(request)
            }
        }
        #expect(try await session.get("http://a.test/cached").status == .notModified)
        #expect(stub.received.isEmpty)
        _ = try await session.get("http://a.test/")
        #expect(stub.received.count == 2)
        #expect(await curlewError { _ = try await session.post("http://a.test/", .body(.none)) }?.code == .unsupported)
    }

    @Test("a closure runs on the executor of its caller")
    func executor() async throws {
        actor Caller {
            let loop: CurlewEventLoop

            init(_ loop: CurlewEventLoop) { self.loop = loop }

            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

            func get(_ session: HTTPSession) async throws { _ = try await session.get("http://a.test/") }
        }
        let loop = try CurlewEventLoop(name: "curlew-test")
        let places = Guarded<[Bool]>([])
        let session = try HTTPSession(transport: stub, chain: .bare) {
            Link { request, next in
                places.withLock { $0.append(loop.isIsolatingCurrentContext() == true) }
                let response = try await next(request)
                places.withLock { $0.append(loop.isIsolatingCurrentContext() == true) }
                return response
            }
        }
        try await Caller(loop).get(session)
        _ = try await session.get("http://a.test/")
        #expect(places.withLock { $0 } == [true, true, false, false])
    }

    @Test(
        "a request without its secrets lacks secret fields, known and marked, and user information, and is otherwise equal"
    )
    func removingSecrets() throws {
        let own = try #require(HTTPField.Name("X-Own"))
        var options = RequestOptions()
        options.secretFields = [own]
        options.tag = "kept"
        let request = try CurlewRequest(
            .post, "http://user:pass@a.test/path?q=1",
            fields: [
                .authorization: "Bearer secret", .proxyAuthorization: "Basic secret", .cookie: "sid=secret",
                .apiKey: "secret", own: "secret", .accept: "text/plain",
            ],
            body: .string("body"), trailers: [own: "secret", .mark: "kept"], options: options)
        let bare = request.removingSecrets()
        #expect(bare.fields == [.accept: "text/plain"])
        #expect(bare.trailers == [.mark: "kept"])
        #expect(bare.uri.description == "http://a.test/path?q=1" && bare.uri.userInformation == nil)
        #expect(bare.method == .post && bare.body.isReplayable && bare.options.tag == "kept")
        #expect(request.fields[.authorization] == "Bearer secret" && request.uri.userInformation == "user:pass")
    }
}
