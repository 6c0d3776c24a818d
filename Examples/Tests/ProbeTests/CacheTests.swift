import CurlewTesting
import HTTPTypes
import Testing

@testable import Probe

@Suite("The cache of a session", .timeLimit(.minutes(1)))
struct CacheTests {
    /// Answers with the number of the request on its connection, fresh for an hour unless the path sets another
    /// lifetime; 304 to a matching condition.
    private func server() async throws -> MockServer {
        try await MockServer.start { request in
            let fields: HTTPFields = [
                .eTag: "\"a\"", .cacheControl: request.path == "/stale" ? "max-age=0" : "max-age=3600",
            ]
            if request.fields[.ifNoneMatch] == "\"a\"" { return MockResponse(status: .notModified, fields: fields) }
            return MockResponse(fields: fields, body: .string("\(request.exchangeIndex + 1)"))
        }
    }

    @Test(
        "the cache modes follow the Fetch standard",
        arguments: [
            ("default", "1", "hit"), ("no-store", "2", "bypass"), ("reload", "2", "miss"),
            ("no-cache", "1", "revalidated"), ("force-cache", "1", "hit"), ("only-if-cached", "1", "hit"),
        ])
    func modes(_ mode: String, _ text: String, _ status: String) async throws {
        let server = try await server()
        let probe = ProbeDriver()
        let first = try await probe.fetch(server.url())
        #expect(first.bodyText == "1" && first.string("cache_status") == "miss")
        let second = try await probe.fetch(server.url(), #""cache":"\#(mode)""#)
        #expect(second.bodyText == text)
        #expect(second.string("cache_status") == status)
        await server.shutdown()
    }

    @Test("a stale response is validated, or used unchanged in the modes that allow it")
    func stale() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        _ = try await probe.fetch(server.url("/stale"))
        #expect(try await probe.fetch(server.url("/stale")).string("cache_status") == "revalidated")
        #expect(
            try await probe.fetch(server.url("/stale"), #""cache":"force-cache""#).string("cache_status") == "stale")
        let missing = try await probe.fetch(server.url("/other"), #""cache":"only-if-cached""#)
        #expect(missing["status"] == .integer(504))
        await server.shutdown()
    }

    @Test("each session has its own cache, which can be cleared")
    func sessions() async throws {
        let server = try await server()
        let probe = ProbeDriver()
        _ = try await probe.fetch(server.url())
        #expect(try await probe.fetch(server.url(), #""session":"b""#).string("cache_status") == "miss")
        #expect(try await probe.fetch(server.url()).string("cache_status") == "hit")
        #expect(try await probe.ask(#"{"id":1,"op":"clear","what":"cache"}"#).string("cleared") == "cache")
        #expect(try await probe.fetch(server.url()).string("cache_status") == "miss")
        #expect(try await probe.fetch(server.url(), #""session":"b""#).string("cache_status") == "hit")
        await server.shutdown()
    }

    @Test(
        "the first line of a session chooses the cache mode of the session",
        arguments: [
            ("single-user", "hit", "hit"), ("private", "bypass", "hit"), ("shared", "hit", "miss"), (nil, "hit", "hit"),
        ] as [(String?, String, String)])
    func cacheModes(_ mode: String?, _ withCredentials: String, _ markedPrivate: String) async throws {
        let server = try await MockServer.start { request in
            MockResponse(
                fields: [.cacheControl: request.path == "/private" ? "private, max-age=60" : "public, max-age=60"])
        }
        let probe = ProbeDriver()
        let first = mode.map { #""cache_mode":"\#($0)""# } ?? ""
        _ = try await probe.fetch(server.url("/private"), first)
        // Only the first line of a session sets the cache mode; a later line does not change it.
        let later = #""cache_mode":"shared""#
        #expect(try await probe.fetch(server.url("/private"), later).string("cache_status") == markedPrivate)
        let credentials = #""headers":[["Authorization","Basic dTpw"]]"#
        _ = try await probe.fetch(server.url("/own"), credentials)
        #expect(try await probe.fetch(server.url("/own"), credentials).string("cache_status") == withCredentials)
        #expect(try await probe.fetch(server.url(), #""cache_mode":"none""#).skip == "cache_mode none")
        await server.shutdown()
    }
}
