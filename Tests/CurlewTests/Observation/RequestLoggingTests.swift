import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Logging
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Logged requests and masked secrets", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct RequestLoggingTests {
    private let log = RecordingLog()

    private func session(
        _ stub: StubTransport, _ level: Logger.Level, _ adjust: (inout RequestLogging) -> Void = { _ in }
    ) throws -> HTTPSession {
        var link = RequestLogging(log.logger(level))
        adjust(&link)
        return try HTTPSession(transport: stub, chain: .bare) { [link] in link }
    }

    @Test("a call logs its start and its end with the same identifier")
    func lines() async throws {
        let stub = StubTransport { _ in .response(.created, body: "curlew") }
        _ = try await session(stub, .debug).get("http://user:secret@a.test/path?q=1#part")
        let lines = log.lines
        #expect(lines.map(\.message) == ["request", "response"])
        #expect(lines.map(\.level) == [.debug, .debug])
        #expect(lines.allSatisfy { $0["method"] == "GET" && $0["uri"] == "http://a.test/path?***" })
        #expect(Set(lines.map { $0["call.id"] }).count == 1)
        #expect(lines[0]["call.id"]?.count == 16)
        #expect(lines[1]["status"] == "201" && lines[1]["length"] == "6" && lines[1]["version"] == "HTTP/1.1")
        #expect(Double(lines[1]["milliseconds"] ?? "") != nil)
        #expect(lines[1]["attempts"] == nil && lines[1]["fields"] == nil)
        #expect(!log.text.contains("secret"))
        _ = try await session(stub, .debug).get("http://a.test/")
        #expect(Set(log.lines.map { $0["call.id"] }).count == 2)
    }

    @Test("the line of a failed call has the code and stage of the error, or only the type of a foreign error")
    func failures() async throws {
        struct Foreign: Error { let text = "secret" }
        let stub = StubTransport()
        stub.enqueue(.failure(.connectionLost, "it went away", stage: .exchanging), .failure(Foreign()))
        let session = try session(stub, .debug) { $0.levels.request = .trace }
        _ = await curlewError { _ = try await session.get("http://a.test/") }
        #expect(await linkError { _ = try await session.get("http://a.test/") } is Foreign)
        let lines = log.lines
        #expect(lines.map(\.message) == ["request failed", "request failed"])
        #expect(lines.allSatisfy { $0.level == .debug })
        #expect(lines[0]["error"] == "connection-lost" && lines[0]["stage"] == "exchanging")
        #expect(lines[0]["message"] == "it went away")
        #expect(lines[1]["error"] == "Foreign")
        #expect(!log.text.contains("secret"))
    }

    @Test("fields are logged only at level trace, with secrets masked")
    func fields() async throws {
        let answer: HTTPFields = [.setCookie: "sid=secret5", .server: "curlew", .mark: "secret6"]
        let stub = StubTransport { _ in .response(fields: answer, body: "secret7") }
        var options = RequestOptions()
        options.secretFields = [HTTPField.Name("X-Own")!]
        let fields: HTTPFields = [
            .authorization: "Bearer secret1", .cookie: "sid=secret2", .proxyAuthorization: "Basic secret3",
            .apiKey: "secret4", HTTPField.Name("X-Own")!: "secret8", .accept: "text/plain",
        ]
        let session = try session(stub, .trace) { $0.secretFields = [.mark] }
        _ = try await session.post("http://a.test/", .body(.string("secret9")), fields: fields, options: options)
        let begin = try #require(log.lines.first?["fields"])
        for line in [
            "Authorization: Bearer ***", "Cookie: ***", "Proxy-Authorization: Basic ***", "Accept: text/plain",
        ] {
            #expect(begin.contains(line))
        }
        let end = try #require(log.lines.last?["fields"])
        #expect(end.contains("Set-Cookie: ***") && end.contains("Server: curlew") && end.contains("X-Mark: ***"))
        #expect(!log.text.contains("secret"))
    }

    /// A session whose first link shows the queries on request.
    private func querySession(_ stub: StubTransport, showsQueries: Bool) throws -> HTTPSession {
        let logger = log.logger(.trace)
        return try HTTPSession(transport: stub, chain: .bare) {
            Link { request, next in
                var request = request
                request.options.showsQueries = showsQueries
                return try await next(request)
            }
            RequestLogging(logger)
            Redirects()
        }
    }

    @Test("queries are masked in lines, redirects and fields, unless allowed")
    func queries() async throws {
        for showsQueries in [false, true] {
            let log = log.lines.count
            let stub = StubTransport()
            stub.enqueue(
                .response(.found, fields: [.location: "/b?token=secret"]),
                .response(
                    .ok,
                    fields: [
                        .contentLocation: "http://me:secret@a.test/c?x=secret",
                        .init("Link")!: #"</d?y=secret>; rel="next", </e#secret>; rel="last""#,
                    ]))
            let session = try querySession(stub, showsQueries: showsQueries)
            _ = try await session.get(
                "http://a.test/a?token=secret", fields: [.referer: "http://b.test/?z=secret"])
            let lines = self.log.lines.dropFirst(log)
            let tail = showsQueries ? "token=secret" : "***"
            #expect(lines.first?["uri"] == "http://a.test/a?\(tail)")
            #expect(lines.last?["final_uri"] == "http://a.test/b?\(tail)")
            if showsQueries {
                #expect(lines.last?["fields"]?.contains("y=secret") == true)
            } else {
                #expect(!self.log.text.contains("secret"))
                let fields = try #require(lines.last?["fields"])
                #expect(fields.contains("Link: </d?***>;") && fields.contains("</e#***>;"))
                #expect(fields.contains("Content-Location: http://***@a.test/c?***"))
            }
        }
    }

    @Test("queries are masked in error descriptions and their lines, unless allowed")
    func errorQueries() async throws {
        for showsQueries in [false, true] {
            let stub = StubTransport { request in
                switch request.path {
                case "/loop": .response(.found, fields: [.location: "/loop?token=secret"])
                case "/absent": .response(.notFound)
                default: .failure(.connectionLost)
                }
            }
            let session = try querySession(stub, showsQueries: showsQueries)
            // A stub's own error does not follow the option.
            for path in ["/absent", "/loop"] + (showsQueries ? [] : ["/lost"]) {
                let error = await curlewError {
                    _ = try await session.get(.raw("http://a.test\(path)?token=secret"), as: .text)
                }
                let text = try #require(error).description
                #expect(text.contains("http://a.test\(path)?"), "\(text)")
                #expect(text.contains("secret") == showsQueries, "\(text)")
                #expect(error?.uri?.query == "token=secret")
            }
            if !showsQueries { #expect(!log.text.contains("secret")) }
        }
    }

    @Test("redirects and retries are logged with the identifier of their call")
    func repetitions() async throws {
        let stub = StubTransport()
        stub.enqueue(
            .response(.found, fields: [.location: "/b"]), .response(.serviceUnavailable),
            .failure(.connectionLost, stage: .exchanging), .response(.ok))
        var retry = Retry()
        retry.policy.backoff = Retry.Backoff(base: .zero)
        let logger = log.logger(.debug)
        let session = try HTTPSession(transport: stub, chain: .bare) { [retry] in
            RequestLogging(logger)
            Redirects()
            retry
        }
        _ = try await session.get("http://a.test/")
        let lines = log.lines
        #expect(lines.map(\.message) == ["request", "redirected", "sending again", "sending again", "response"])
        #expect(Set(lines.map { $0["call.id"] }).count == 1)
        #expect(lines[1]["status"] == "302" && lines[1]["uri"] == "http://a.test/b" && lines[1]["redirect"] == "1")
        #expect(lines[2]["status"] == "503" && lines[2]["attempt"] == "1" && lines[2]["wait_milliseconds"] == "0.0")
        #expect(lines[3]["error"] == "connection-lost" && lines[3]["attempt"] == "2")
        #expect(lines[4]["attempts"] == "3" && lines[4]["redirects"] == "1")
    }

    @Test("a hedged request is logged with the identifier of its call")
    func hedges() async throws {
        let clock = TestClock()
        let stub = StubTransport { request in request.index == 0 ? .stall : .response(.ok) }
        let link = RequestLogging(log.logger(.debug), levels: .init(request: .trace))
        let session = try HTTPSession(transport: stub, chain: .bare) {
            link
            Hedging(after: .seconds(1), clock: clock)
        }
        let call = Task { try await session.get("http://a.test/") }
        try await stub.waitForRequests(1)
        try await clock.advanceToNextSleeper()
        _ = try await call.value
        #expect(log.lines.map(\.message) == ["hedging", "response"])
        #expect(log.lines.map { $0["attempt"] } == ["2", nil])
        #expect(Set(log.lines.map { $0["call.id"] }).count == 1)
    }

    @Test("a second, inner logging link logs each attempt with the identifier of the first")
    func inner() async throws {
        let stub = StubTransport()
        stub.enqueue(.response(.serviceUnavailable), .response(.ok))
        var retry = Retry()
        retry.policy.backoff = Retry.Backoff(base: .zero)
        let logger = log.logger(.debug)
        var outer = RequestLogging(logger)
        outer.makeIdentifier = { _ in "one" }
        let session = try HTTPSession(transport: stub, chain: .bare) { [retry, outer] in
            outer
            retry
            RequestLogging(logger)
        }
        _ = try await session.get("http://a.test/")
        #expect(log.lines.filter { $0.message == "request" }.count == 3)
        #expect(log.lines.allSatisfy { $0["call.id"] == "one" })
    }

    @Test("a call logs nothing at level info, whatever its result, and allocates no identifier")
    func silence() async throws {
        let stub = StubTransport()
        stub.enqueue(
            .response(.found, fields: [.location: "/b"]), .response(.serviceUnavailable), .response(.ok),
            .failure(.invalidResponse))
        var link = RequestLogging()
        link.makeIdentifier = { _ in
            Issue.record("a call that is not logged has an identifier")
            return ""
        }
        let session = try HTTPSession(transport: stub, chain: .bare) { [link] in
            link
            Redirects()
            quickRetry()
        }
        try await withLogger(log.logger(.info)) { _ in
            _ = try await session.get("http://a.test/")
            _ = await curlewError { _ = try await session.get("http://a.test/") }
        }
        #expect(log.lines.isEmpty)
        #expect(stub.received.count == 4 && stub.received.allSatisfy { $0.request.log == nil })
    }

    @Test("a call is logged to the logger of its task, with the metadata of the task")
    func taskLocal() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let session = try HTTPSession(transport: stub, chain: .bare) { StandardChain() }
        for number in 1...2 {
            try await withLogger(log.logger(.debug)) { _ in
                try await withLogger(mergingMetadata: ["request.id": "\(number)", "request_id": "kept"]) { _ in
                    _ = try await session.get("http://a.test/")
                }
            }
        }
        #expect(log.lines.map(\.message) == ["request", "response", "request", "response"])
        #expect(log.lines.map { $0["request.id"] } == ["1", "1", "2", "2"])
        #expect(log.lines.allSatisfy { $0["request_id"] == "kept" && $0["call.id"]?.count == 16 })
    }

    @Test("a logger of the link precedes that of the task, and a chain without the link logs nothing")
    func ownLogger() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let other = RecordingLog()
        var silent = StandardChain.Options()
        silent.logging = nil
        try await withLogger(other.logger(.trace)) { [silent] _ in
            _ = try await session(stub, .debug).get("http://a.test/")
            _ = try await HTTPSession(transport: stub, chain: .bare) { StandardChain(silent) }.get("http://a.test/")
        }
        #expect(other.lines.isEmpty)
        #expect(log.lines.map(\.message) == ["request", "response"])
    }

    @Test("the levels of requests, responses and fields can be changed")
    func levels() async throws {
        let stub = StubTransport { _ in .response(.ok, fields: [.server: "curlew"]) }
        let levels = RequestLogging.Levels(request: .notice, response: .error, fields: .notice)
        _ = try await session(stub, .notice) { $0.levels = levels }.get("http://a.test/")
        #expect(log.lines.map(\.level) == [.notice, .error])
        #expect(log.lines.last?["fields"]?.contains("curlew") == true)
    }

    @Test("a refused connection is logged with its error and stage, over sockets")
    func sockets() async throws {
        let refused = try RefusedPort.unused()
        let link = RequestLogging(log.logger(.debug), levels: .init(request: .trace))
        let session = try makeSession { link }
        _ = await curlewError { _ = try await session.get(.raw(refused.url("/x"))) }
        #expect(log.lines.map { $0["error"] } == ["connection-refused"])
        #expect(log.lines.first?["stage"] == "connecting")
    }
}
