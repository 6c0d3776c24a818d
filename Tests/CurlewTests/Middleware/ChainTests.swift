import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Chains of links", .endsServers, .timeLimit(.minutes(1)))
struct ChainTests {
    /// A transport that answers with a description of the request, without a network.
    struct Stub: Transport {
        func send(_ request: CurlewRequest) async throws -> CurlewResponse {
            var fields = request.fields
            fields[.location] = request.uri.description
            return CurlewResponse(.ok, fields: fields, body: .bytes(Array("stub".utf8)), uri: request.uri)
        }
    }

    /// A link that records its name before and after the rest of the chain.
    struct Mark: CurlewMiddleware {
        let name: String

        static let field = HTTPField.Name("X-Mark")!

        func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
            -> CurlewResponse
        {
            var request = request
            request.fields[Self.field] = (request.fields[Self.field] ?? "") + "<\(name)"
            var response = try await next(request)
            response.fields[Self.field] = (response.fields[Self.field] ?? "") + ">\(name)"
            return response
        }
    }

    struct Cached: CurlewMiddleware {
        func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
            -> CurlewResponse
        {
            CurlewResponse(.notModified, uri: request.uri)
        }
    }

    struct Twice: CurlewMiddleware {
        func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
            -> CurlewResponse
        {
            _ = try await next(request)
            return try await next(request)
        }
    }

    /// A link that changes the types: text becomes a request, and the response becomes a number.
    struct LengthOf: CurlewMiddleware {
        func intercept(_ path: String, next: Next<CurlewRequest, CurlewResponse>) async throws -> Int {
            let response = try await next(try CurlewRequest(.get, "http://stub.test/\(path)"))
            return try await response.body.collect(upTo: 1000).count
        }
    }

    private func marks<Links: CurlewMiddleware>(@ChainBuilder _ links: () -> Links) async throws -> String?
    where
        Links.Input == CurlewRequest, Links.Output == CurlewResponse, Links.NextInput == CurlewRequest,
        Links.NextOutput == CurlewResponse
    {
        let session = try HTTPSession(baseURL: "http://stub.test/", transport: Stub(), chain: .bare, links)
        return try await session.get("x").fields[Mark.field]
    }

    @Test("the first link of a chain is the outermost")
    func order() async throws {
        let seen = try await marks {
            Mark(name: "a")
            Mark(name: "b")
            Mark(name: "c")
        }
        #expect(seen == "<a<b<c>c>b>a")
    }

    @Test("a link may be optional or chosen by if and else", arguments: [true, false])
    func conditions(_ flag: Bool) async throws {
        let link: Mark? = flag ? Mark(name: "opt") : nil
        let seen = try await marks {
            if flag { Mark(name: "if") }
            if flag { Mark(name: "yes") } else { Mark(name: "no") }
            link
        }
        #expect(seen == (flag ? "<if<yes<opt>opt>yes>if" : "<no>no"))
    }

    @Test("a link may answer by itself, and may call the rest twice")
    func shortcuts() async throws {
        let cached = try HTTPSession(transport: Stub(), chain: .bare) { Cached() }
        #expect(try await cached.get("http://stub.test/").status == .notModified)
        let twice = try await marks {
            Twice()
            Mark(name: "t")
        }
        #expect(twice == "<t>t")
    }

    @Test("a link may change the types of request and response")
    func types() async throws {
        let chain = ChainBuilder.buildPartialBlock(accumulated: LengthOf(), next: Mark(name: "x"))
        let length = try await chain.intercept("path") { try await Stub().send($0) }
        #expect(length == 4)
    }

    @Test("an empty chain passes requests unchanged")
    func empty() async throws {
        let session = try HTTPSession(baseURL: "http://stub.test/a", transport: Stub(), chain: .bare) {}
        #expect(try await session.get("b").fields[.location] == "http://stub.test/a/b")
    }

    @Test("default fields do not replace a call's own fields")
    func defaults() async throws {
        let session = try HTTPSession(
            baseURL: "http://stub.test/", transport: Stub(), defaultFields: [.userAgent: "default", .accept: "a/b"],
            chain: .bare
        ) {}
        let fields = try await session.get("x", fields: [.userAgent: "mine"]).fields
        #expect(fields[values: .userAgent] == ["mine"])
        #expect(fields[.accept] == "a/b")
    }

    @Test("links run on the caller's executor, not on the event loop")
    func executor() async throws {
        struct WhereAmI: CurlewMiddleware {
            let loop: CurlewEventLoop
            let seen: @Sendable (Bool) -> Void

            func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
                -> CurlewResponse
            {
                seen(loop.isIsolatingCurrentContext() == true)
                let response = try await next(request)
                seen(loop.isIsolatingCurrentContext() == true)
                return response
            }
        }
        let server = try await MockServer.start { _ in MockResponse() }
        let loop = try CurlewEventLoop(name: "curlew-test")
        let (places, report) = AsyncStream.makeStream(of: Bool.self)
        let session = try HTTPSession(eventLoops: [loop], chain: .bare) { WhereAmI(loop: loop) { report.yield($0) } }
        _ = try await session.get(.raw(server.url()))
        report.finish()
        for await isOnLoop in places { #expect(!isOnLoop) }
    }
}
