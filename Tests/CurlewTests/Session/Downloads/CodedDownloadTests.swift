import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad
@testable import CurlewTransfers

@Suite("Content codings and files", .noLeaks, .timeLimit(.minutes(1)))
struct CodedDownloadTests {
    private static let plain = Array(repeating: Array("curlews whistle. ".utf8), count: 2000).flatMap { $0 }

    /// A file that is served with a coding without being asked.
    private func bench(_ coding: String = "gzip", ignores: Bool = false) async throws -> DownloadBench {
        let bytes = DownloadBench.bytes(300_000)
        return try await DownloadBench { _, request in
            var response = RangedContent(bytes, entityTag: "\"one\"").response(to: request)
            if !ignores || request.fields[.range] == nil { response.fields[.contentEncoding] = coding }
            return response
        }
    }

    private func gzipServer(_ fields: HTTPFields = [:]) async throws -> (MockServer, coded: [UInt8]) {
        let coded = try ContentCoding.gzip.encode(Self.plain)
        let server = try await MockServer.start { _ in
            var response = MockResponse(fields: fields, body: .bytes(coded))
            response.fields[.contentEncoding] = "gzip"
            return response
        }
        return (server, coded)
    }

    private func standardSession() throws -> HTTPSession {
        try HTTPSession(transport: try #require(try makeSession().session), chain: .bare) { StandardChain() }
    }

    @Test("an encoded body is stored unchanged, and decoded on request", arguments: [true, nil, false])
    func stored(_ decodes: Bool?) async throws {
        let (server, coded) = try await gzipServer([.eTag: "\"a\""])
        let folder = try ScratchFolder()
        var options = RequestOptions()
        options.decodesContent = decodes
        let file = try await standardSession().download(
            .raw(server.url("/birds.tar.gz")), to: .folder(folder.path), options: options)
        let isDecoded = decodes == true
        #expect(try folder.bytes("birds.tar.gz") == (isDecoded ? Self.plain : coded))
        #expect(file.size == Int64(isDecoded ? Self.plain.count : coded.count))
        #expect(file.response?.headerFields[.contentEncoding] == (isDecoded ? nil : "gzip"))
        #expect(await server.takeRequest()?.fields[values: .acceptEncoding] == ["identity"])
    }

    @Test("the file serializer asks for no coding, stores an encoded body unchanged, and decodes on request")
    func serializer() async throws {
        let (server, coded) = try await gzipServer()
        let folder = try ScratchFolder()
        let session = try standardSession()
        for (index, (fields, decodes, asked)) in [
            ([:], nil, "identity"), ([:], false, "identity"), ([:], true, "gzip, deflate, br, zstd"),
            ([.acceptEncoding: "gzip"], nil, "gzip"), ([.acceptEncoding: "br"], true, "br"),
        ].enumerated() as EnumeratedSequence<[(HTTPFields, Bool?, String)]> {
            var options = RequestOptions()
            options.decodesContent = decodes
            let file = try await session.get(
                .raw(server.url()), as: .file(.file(folder.file("\(index)"))), fields: fields, options: options)
            #expect(try folder.bytes("\(index)") == (decodes == true ? Self.plain : coded), "\(index)")
            #expect(file.response?.headerFields.contains(.contentEncoding) == (decodes != true))
            #expect(await server.takeRequest()?.fields[values: .acceptEncoding] == [asked])
        }
        // The verbs decode a value, in contrast to a file.
        #expect(try await session.get(.raw(server.url()), as: .bytes) == Self.plain)
    }

    @Test("the digest of an encoded body is that of the bytes in the file")
    func digests() async throws {
        func digest(_ bytes: [UInt8]) throws -> ContentDigest {
            let digest = try MessageDigest(.sha256)
            try digest.update(bytes)
            return try (ContentDigest(hex: try digest.finish()))
        }
        let coded = try ContentCoding.gzip.encode(Self.plain)
        let (ofCoded, ofPlain) = (try digest(coded), try digest(Self.plain))
        let fields: HTTPFields = [.reprDigest: field(ofCoded)]
        let (server, _) = try await gzipServer(fields)
        let session = try standardSession()
        let folder = try ScratchFolder()
        for (decodes, right, wrong, words) in [
            (nil, ofCoded, ofPlain, "as they came, with the content coding gzip"),
            (true, ofPlain, ofCoded, "after the content coding gzip was undone"),
        ] as [(Bool?, ContentDigest, ContentDigest, String)] {
            var options = RequestOptions()
            options.decodesContent = decodes
            var chosen = Destination.folder(folder.path)
            chosen.existing = .unique
            let place = chosen
            let url = URIReference.raw(server.url("/f"))
            let unasked = try await session.download(url, to: place, options: options)
            #expect(unasked.digest == (decodes == true ? nil : ofCoded))
            let asked = try await session.download(
                url, to: place, integrity: IntegrityRequirement(digest: right), options: options)
            #expect(asked.digest == right)
            let failure = await curlewError {
                _ = try await session.download(
                    url, to: place, integrity: IntegrityRequirement(digest: wrong), options: options)
            }
            #expect(failure?.code == .digestMismatch && failure?.message.contains(words) == true, "\(failure as Any)")
            let short = await curlewError {
                _ = try await session.download(
                    url, to: place, integrity: IntegrityRequirement(length: 1), options: options)
            }
            #expect(short?.code == .lengthMismatch && short?.message.contains(words) == true, "\(short as Any)")
        }
    }

    /// The value of a digest field (RFC 9530 §2).
    private func field(_ digest: ContentDigest) -> String {
        "sha-256=:\(Data(digest.bytes).base64EncodedString()):"
    }

    @Test("a download of encoded bytes resumes, with or without a token", arguments: ["gzip", "unheard-of"])
    func resumed(_ coding: String) async throws {
        let bench = try await bench(coding)
        try bench.server.inject(Fault(.inResponseBody(after: 100_000), .close))
        _ = try await bench.download(.quick(resumes: 1))
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-"])
        await bench.end()

        let later = try await self.bench(coding)
        let token = try await later.brokenOff(after: 100_000)
        #expect(token.codings == [coding])
        _ = try await later.session.download(resuming: token)
        try later.expectWhole()
        #expect(await later.ranges() == ["", "bytes=100000-"])
    }

    @Test("segments of encoded bytes are fetched over several connections")
    func segmented() async throws {
        let bench = try await bench()
        _ = try await bench.download(.segmented(3))
        try bench.expectWhole()
        #expect(await bench.ranges().filter { !$0.isEmpty }.count == 2)
    }

    @Test("encoded and plain bytes are never combined")
    func mixed() async throws {
        let bench = try await bench(ignores: true)
        let token = try await bench.brokenOff(after: 100_000)
        let file = try await bench.session.download(resuming: token)
        try bench.expectWhole()
        #expect(await bench.ranges() == ["", "bytes=100000-", ""])
        #expect(file.response?.headerFields[.contentEncoding] == "gzip")
    }

    @Test("a token with codings survives encoding, and one with invalid codings is refused")
    func tokens() async throws {
        let bench = try await bench()
        let token = try await bench.brokenOff(after: 100_000)
        let written = try JSONEncoder().encode(token)
        #expect(try JSONDecoder().decode(ResumeToken.self, from: written) == token)
        let text = String(decoding: written, as: UTF8.self)
        #expect(text.contains(#""codings":["gzip"]"#))
        let many = Array(repeating: #""gzip""#, count: 9).joined(separator: ",")
        for list in [many, #""a b""#, #""a\u0000""#] {
            let changed = text.replacing(#""codings":["gzip"]"#, with: #""codings":[\#(list)]"#)
            #expect(throws: CurlewError.self, "\(list)") {
                try JSONDecoder().decode(ResumeToken.self, from: Data(changed.utf8))
            }
        }
        await token.discard()
    }
}
