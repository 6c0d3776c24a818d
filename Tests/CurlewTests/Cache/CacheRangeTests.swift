import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

/// RFC 9111 §3.3, §3.4; RFC 9110 §14.
@Suite("Ranges of representations in a cache", .noLeaks, .timeLimit(.minutes(2)))
struct CacheRangeTests {
    private static let text = "0123456789abcdefghij"

    /// Serves ranges of 20 bytes, with a strong validator and If-Range.
    private static func ranged(_ request: InboundRequest, _ number: Int, tag: String = "\"a\"") -> MockResponse {
        let fields: HTTPFields = [.eTag: tag, .cacheControl: "max-age=60", .server: "\(number)"]
        guard let range = request.fields[.range], let bytes = CacheRange(range)?.bytes(of: 20),
            request.fields[.ifRange].map({ $0 == tag }) ?? true
        else { return MockResponse(fields: fields, body: .string(text)) }
        let part = text.utf8.dropFirst(Int(bytes.lowerBound)).prefix(bytes.count)
        return MockResponse(
            status: .partialContent,
            fields: fields + [.contentRange: "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/20"],
            body: .bytes(Array(part)))
    }

    @Test(
        "a range of a complete stored response is answered from the cache",
        arguments: [
            ("bytes=0-4", "01234", "bytes 0-4/20"), ("bytes=15-", "fghij", "bytes 15-19/20"),
            ("bytes=-3", "hij", "bytes 17-19/20"), ("bytes=18-99", "ij", "bytes 18-19/20"),
            ("bytes=-99", text, "bytes 0-19/20"),
        ])
    func ofWhole(_ range: String, _ text: String, _ contentRange: String) async throws {
        let scene = try await CacheScene { Self.ranged($0, $1) }
        _ = try await scene.get()
        let part = try await scene.send(.get, "/", [.range: range])
        #expect(part.description == "206 \(text) hit")
        #expect(part.fields[.contentRange] == contentRange)
        #expect(part.fields[.contentLength] == "\(text.utf8.count)")
        #expect(scene.server.requestCount == 1)
    }

    @Test(
        "multiple, unsatisfiable and invalid ranges go to the server",
        arguments: ["bytes=0-1,4-5", "bytes=20-", "bytes=5-4", "items=0-4", "bytes=-0", "bytes=-"])
    func forServer(_ range: String) async throws {
        let scene = try await CacheScene {
            .numbered($1, [.eTag: "\"a\"", .cacheControl: "max-age=60"], $1 == 1 ? 200 : 416)
        }
        _ = try await scene.get()
        let answer = try await scene.send(.get, "/", [.range: range])
        #expect(answer.status == "miss" || answer.code == 200)
        #expect(scene.server.requestCount == 2 || answer.text == "1")
    }

    @Test("§13.1.5: If-Range with another validator returns the full representation")
    func ifRange() async throws {
        let scene = try await CacheScene { Self.ranged($0, $1) }
        _ = try await scene.get()
        #expect(try await scene.get("/", [.range: "bytes=0-1", .ifRange: "\"a\""]) == "206 01 hit")
        #expect(try await scene.get("/", [.range: "bytes=0-1", .ifRange: "\"b\""]) == "200 \(Self.text) hit")
    }

    @Test("§3.3: a stored part answers only for ranges within it")
    func ofPart() async throws {
        let scene = try await CacheScene { Self.ranged($0, $1) }
        #expect(try await scene.get("/", [.range: "bytes=5-9"]) == "206 56789 miss")
        #expect(try await scene.get("/", [.range: "bytes=6-7"]) == "206 67 hit")
        #expect(try await scene.get("/", [.range: "bytes=4-7"]) == "206 4567 miss")
        #expect(try await scene.get(policy: .onlyIfCached) == "504  miss")
        #expect(try await scene.send(.head).status == "miss")
    }

    @Test("§3.4: adjacent parts are combined, and become a complete response if none is missing")
    func joined() async throws {
        let scene = try await CacheScene { Self.ranged($0, $1) }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        #expect(try await scene.get("/", [.range: "bytes=8-14"]) == "206 89abcde miss")
        #expect(try await scene.get("/", [.range: "bytes=0-14"]) == "206 0123456789abcde hit")
        _ = try await scene.get("/", [.range: "bytes=15-"])
        let whole = try await scene.send()
        #expect(whole.description == "200 \(Self.text) hit")
        #expect(whole.fields[.contentRange] == nil)
        #expect(whole.fields[.contentLength] == "20")
        #expect(try await scene.cache.store.contents.entries == 1)
        #expect(scene.server.requestCount == 3)
    }

    @Test("§3.4: a missing rest is requested, and the complete response is returned and stored")
    func completed() async throws {
        let scene = try await CacheScene { Self.ranged($0, $1) }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        let whole = try await scene.send()
        #expect(whole.description == "200 \(Self.text) miss")
        #expect(whole.fields[.contentLength] == "20")
        #expect(whole.fields[.server] == "2")
        _ = await scene.server.takeRequest()
        let sent = await scene.server.takeRequest()
        #expect(sent?.fields[.range] == "bytes=10-")
        #expect(sent?.fields[.ifRange] == "\"a\"")
        #expect(try await scene.get() == "200 \(Self.text) hit")
    }

    @Test("a representation that has changed replaces its stored part")
    func changed() async throws {
        let scene = try await CacheScene { Self.ranged($0, $1, tag: $1 == 1 ? "\"a\"" : "\"b\"") }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        #expect(try await scene.get() == "200 \(Self.text) miss")
        #expect(try await scene.get() == "200 \(Self.text) hit")
        #expect(try await scene.cache.store.contents.entries == 1)
    }

    @Test("a rest that does not match the request is not combined, and the full representation is requested")
    func wrongRest() async throws {
        let scene = try await CacheScene { request, number in
            guard number == 2 else { return Self.ranged(request, number) }
            return MockResponse(
                status: .partialContent,
                fields: [.eTag: "\"a\"", .contentRange: "bytes 12-19/20", .cacheControl: "max-age=60"],
                body: .string("cdefghij"))
        }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        #expect(try await scene.get() == "200 \(Self.text) miss")
        #expect(scene.server.requestCount == 3)
    }

    @Test("parts of different representations are never combined")
    func notJoined() async throws {
        let scene = try await CacheScene { Self.ranged($0, $1, tag: "\"\($1)\"") }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        _ = try await scene.get("/", [.range: "bytes=10-19"])
        #expect(try await scene.get("/", [.range: "bytes=0-9"]).hasSuffix("miss"))
    }

    /// Serves ranges with the digests of RFC 9530, in the head or in the trailers.
    private static func digested(
        _ request: InboundRequest, _ number: Int, inTrailers: Bool
    ) throws -> MockResponse {
        let range = request.fields[.range].flatMap { CacheRange($0)?.bytes(of: 20) } ?? 0..<20
        let content = String(text.dropFirst(Int(range.lowerBound)).prefix(range.count))
        let digests: HTTPFields = [
            .contentDigest: try digest(of: content), HTTPField.Name("Content-MD5")!: "md5 of \(content)",
            .reprDigest: try digest(of: text),
        ]
        var response = ranged(request, number)
        if inTrailers {
            response.framing = .chunked
            response.trailers = digests
        } else {
            response.fields += digests
        }
        return response
    }

    private static func digest(of text: String) throws -> String {
        let digest = try ContentDigest(hex: MessageDigest.hash(text, by: .sha256))
        return "sha-256=:\(Data(digest.bytes).base64EncodedString()):"
    }

    /// Checks that no field in the head or in the trailers describes the content.
    private static func expectRepresentationDigestOnly(
        _ seen: CacheScene.Seen, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let fields = seen.fields + seen.trailers
        #expect(fields[.contentDigest] == nil, sourceLocation: sourceLocation)
        #expect(fields[HTTPField.Name("Content-MD5")!] == nil, sourceLocation: sourceLocation)
        #expect(fields[.reprDigest]?.hasPrefix("sha-256=") == true, sourceLocation: sourceLocation)
    }

    @Test("RFC 9530 §2: combined parts have no digest of the content of one part", arguments: [false, true])
    func digestOfJoined(_ inTrailers: Bool) async throws {
        let scene = try await CacheScene { try Self.digested($0, $1, inTrailers: inTrailers) }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        _ = try await scene.get("/", [.range: "bytes=10-14"])
        let part = try await scene.send(.get, "/", [.range: "bytes=0-14"])
        #expect(part.description == "206 0123456789abcde hit")
        Self.expectRepresentationDigestOnly(part)
        _ = try await scene.get("/", [.range: "bytes=15-"])
        let whole = try await scene.send()
        #expect(whole.description == "200 \(Self.text) hit")
        Self.expectRepresentationDigestOnly(whole)
    }

    @Test("RFC 9530 §2: a completed part has no digest of the content of one part", arguments: [false, true])
    func digestOfCompleted(_ inTrailers: Bool) async throws {
        let scene = try await CacheScene { try Self.digested($0, $1, inTrailers: inTrailers) }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        for status in ["miss", "hit"] {
            let whole = try await scene.send()
            #expect(whole.description == "200 \(Self.text) \(status)")
            Self.expectRepresentationDigestOnly(whole)
        }
    }

    @Test("RFC 9530 §2: a range of a stored body has no digest of the stored content", arguments: [false, true])
    func digestOfRange(_ inTrailers: Bool) async throws {
        let scene = try await CacheScene { try Self.digested($0, $1, inTrailers: inTrailers) }
        let first = try await scene.send()
        let digest = try #require((first.fields + first.trailers)[.contentDigest])
        let part = try await scene.send(.get, "/", [.range: "bytes=0-4"])
        #expect(part.description == "206 01234 hit")
        Self.expectRepresentationDigestOnly(part)
        // The same content keeps its digest.
        let whole = try await scene.send()
        #expect(whole.status == "hit")
        #expect((whole.fields + whole.trailers)[.contentDigest] == digest)
    }

    @Test("a download that a cache completes passes the check of its digests")
    func download() async throws {
        let scene = try await CacheScene { request, number in
            // A download prefers Repr-Digest to Content-Digest.
            var response = try Self.digested(request, number, inTrailers: false)
            response.fields[.reprDigest] = nil
            return response
        }
        _ = try await scene.get("/", [.range: "bytes=0-9"])
        let folder = try ScratchFolder()
        var options = RequestOptions()
        options.cachePolicy = .standard
        _ = try await scene.api.download(
            .raw(scene.server.url()), to: .file(folder.file("whole")), options: options)
        #expect(try folder.bytes("whole") == Array(Self.text.utf8))
        #expect(scene.server.requestCount == 2)
    }
}
