import CurlewTesting
import CurlewTestingTraits
import FoundationEssentials
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Integrity checks of saved files", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct IntegrityTests {
    private static let bytes = BytePattern.bytes(count: 100_000)

    private func digest(_ algorithm: ContentDigest.Algorithm, _ bytes: [UInt8] = Self.bytes) throws -> ContentDigest {
        let digest = try MessageDigest(algorithm.function)
        try digest.update(bytes)
        return ContentDigest(algorithm, finished: try digest.finishedBytes())
    }

    private func field(_ digest: ContentDigest) -> String {
        "\(digest.algorithm)=:\(Data(digest.bytes).base64EncodedString()):"
    }

    private func save(
        _ response: MockResponse, _ integrity: IntegrityRequirement = IntegrityRequirement(), decoding: Bool = false
    ) async throws -> (DownloadedFile, [UInt8]) {
        let folder = try ScratchFolder()
        let server = try await MockServer.start()
        server.enqueue(response)
        let session = try makeSession()
        let chained = try HTTPSession(transport: try #require(session.session), chain: .bare) {
            if decoding { ContentDecoding() }
        }
        let result: Result<(DownloadedFile, [UInt8]), any Error>
        do {
            let file = try await chained.get(.raw(server.url())).save(to: .file(folder.file("a")), integrity: integrity)
            result = .success((file, try folder.bytes("a")))
        } catch {
            #expect(folder.names == [])
            result = .failure(error)
        }
        await server.shutdown()
        return try result.get()
    }

    @Test("the caller's digest and length are compared with the written file", arguments: ContentDigest.Algorithm.all)
    func caller(_ algorithm: ContentDigest.Algorithm) async throws {
        let good = try digest(algorithm)
        let response = MockResponse(body: .bytes(Self.bytes))
        let (file, bytes) = try await save(response, IntegrityRequirement(length: 100_000, digest: good))
        #expect(file.digest == good && bytes == Self.bytes)
        let bad = try digest(algorithm, [1])
        #expect(
            await curlewError { _ = try await save(response, IntegrityRequirement(digest: bad)) }?.code
                == .digestMismatch)
        var unknown = response
        unknown.framing = .chunked
        for length in [0, 99_999, 100_001] as [Int64] {
            for response in [response, unknown] {
                let error = await curlewError { _ = try await save(response, IntegrityRequirement(length: length)) }
                #expect(error?.code == .lengthMismatch, "\(length)")
            }
        }
    }

    @Test("the response's digest is checked, in its head or trailers, unless disabled")
    func fields() async throws {
        let good = field(try digest(.sha512))
        let bad = field(try digest(.sha256, [1]))
        for name in [HTTPField.Name.reprDigest, .contentDigest] {
            var response = MockResponse(fields: [name: good], body: .bytes(Self.bytes))
            #expect(try await save(response).0.digest == (try digest(.sha512)))
            response.fields = [name: bad]
            #expect(await curlewError { _ = try await save(response) }?.code == .digestMismatch)
            #expect(try await save(response, IntegrityRequirement(checksFields: false)).0.digest == nil)
            #expect(
                try await save(response, IntegrityRequirement(digest: digest(.sha256))).0.digest?.algorithm == .sha256)
            response.fields = [:]
            response.trailers = [name: good]
            #expect(try await save(response).0.digest == (try digest(.sha512)))
            response.trailers = [name: bad]
            #expect(await curlewError { _ = try await save(response) }?.code == .digestMismatch)
        }
    }

    @Test("an invalid digest field is ignored, unless a digest is required")
    func unreadable() async throws {
        for value in ["nonsense", "md5=:AAAA:", "sha-256=:AAAA:"] {
            let response = MockResponse(fields: [.reprDigest: value], body: .bytes(Self.bytes))
            #expect(try await save(response).0.digest == nil)
            let error = await curlewError { _ = try await save(response, IntegrityRequirement(requiresDigest: true)) }
            #expect(error?.code == .digestMismatch)
        }
    }

    @Test("the response's digest applies only to encoded bytes, and the caller's digest to decoded ones")
    func coded() async throws {
        let coded = try ContentCoding.gzip.encode(Self.bytes)
        let fields: HTTPFields = [
            .contentEncoding: "gzip", .reprDigest: field(try digest(.sha256, coded)),
        ]
        let response = MockResponse(fields: fields, body: .bytes(coded))
        let (file, bytes) = try await save(response, IntegrityRequirement(length: 100_000), decoding: true)
        #expect(bytes == Self.bytes && file.digest == nil)
        #expect(try await save(response, IntegrityRequirement(digest: digest(.sha256)), decoding: true).1 == Self.bytes)
        let asItCame = try await save(response)
        let codedDigest = try digest(.sha256, coded)
        #expect(asItCame.1 == coded && asItCame.0.digest == codedDigest)
    }
}
