import Curlew
import CurlewCredentials
import CurlewTesting
import Foundation
import HTTPTypes
import TestHelpers
import Testing

/// Requests to moto, an independent server of S3's protocol that verifies signatures with botocore's rules.
///
/// `make test-aws` installs it and sets `CURLEW_MOTO_PYTHON`.
@Suite("Requests to an independent S3 server", .serialized, .timeLimit(.minutes(5)))
struct MotoTests {
    private static let python = ProcessInfo.processInfo.environment["CURLEW_MOTO_PYTHON"]
    /// The characters of a path that S3's canonical form leaves as they are.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")

    /// The process of `moto_server.py`.
    private final class Server {
        let url: String
        private let process = Process()
        private let input = Pipe()

        init(python: String) throws {
            let output = Pipe()
            process.executableURL = URL(filePath: python)
            process.arguments = [
                URL(filePath: #filePath).deletingLastPathComponent().appending(path: "moto_server.py").path()
            ]
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            var line = Data()
            while line.last != 0x0A {
                let more = output.fileHandleForReading.availableData
                guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
                line += more
            }
            url = String(decoding: line.dropLast(), as: UTF8.self)
        }

        deinit {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
    }

    private static func session(
        _ url: String, _ service: String, _ credential: AWSCredential, rule: AWSSigning.BodyRule
    )
        throws -> HTTPSession
    {
        var signing = try AWSSigning(
            AWSSignature(service: service, region: "us-east-1"), for: url, credentials: .fixed(credential))
        signing.bodyRule = rule
        let link = signing
        return try HTTPSession(baseURL: url) {
            StandardChain()
            link
        }
    }

    /// A user's keys. moto verifies signatures from the next request on.
    private static func credential(_ url: String) async throws -> AWSCredential {
        let root = try AWSCredential(accessKey: "root", secretKey: "root")
        let api = try session(url, "iam", root, rule: .hashed)
        func call(_ action: String, _ parameters: [String: String] = [:]) async throws -> String {
            var all = parameters
            all["Action"] = action
            all["Version"] = "2010-05-08"
            all["UserName"] = "u"
            return try await api.post("", .form(RequestParameters(all)), as: .text)
        }
        _ = try await call("CreateUser")
        let policy = #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#
        _ = try await call("PutUserPolicy", ["PolicyName": "p", "PolicyDocument": policy])
        let keys = try await call("CreateAccessKey")
        let access = try #require(keys.firstMatch(of: /<AccessKeyId>(.*?)<\/AccessKeyId>/)?.1)
        let secret = try #require(keys.firstMatch(of: /<SecretAccessKey>(.*?)<\/SecretAccessKey>/)?.1)
        _ = try await api.post("moto-api/reset-auth", .text("0"), as: .bytes)
        return try AWSCredential(accessKey: String(access), secretKey: String(secret))
    }

    @Test("objects are stored and returned, whole, unsigned and in signed pieces", .enabled(if: python != nil))
    func objects() async throws {
        let server = try Server(python: try #require(Self.python))
        let credential = try await Self.credential(server.url)
        let api = try Self.session(server.url, "s3", credential, rule: .hashed)
        _ = try await api.put("birds", as: .bytes)
        let content = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for (rule, name) in [(AWSSigning.BodyRule.hashed, "a b+c/é.bin"), (.chunks(of: .kibibytes(64)), "chunks")] {
            let session = try Self.session(server.url, "s3", credential, rule: rule)
            // moto verifies the path as it was sent, so the path has the encoding that S3 prescribes.
            let path = try #require(name.addingPercentEncoding(withAllowedCharacters: Self.unreserved))
            _ = try await session.put(.raw("birds/\(path)"), .bytes(content), as: .bytes)
            #expect(try await session.get(.raw("birds/\(path)"), as: .bytes) == content, "\(name)")
            _ = try await session.delete(.raw("birds/\(path)"), as: .bytes)
        }
        let wrong = try AWSCredential(accessKey: credential.accessKey, secretKey: "wrong")
        let intruder = try Self.session(server.url, "s3", wrong, rule: .hashed)
        let refused = try await intruder.get("birds/x")
        #expect(refused.status == .forbidden)
        #expect(try await refused.text(anyStatus: true).contains("SignatureDoesNotMatch"))
    }

    // moto does not verify presigned URLs; botocore's requests are the oracle of those.
    @Test("a file is uploaded in signed parts", .enabled(if: python != nil))
    func parts() async throws {
        let server = try Server(python: try #require(Self.python))
        let credential = try await Self.credential(server.url)
        let api = try Self.session(server.url, "s3", credential, rule: .hashed)
        _ = try await api.put("birds", as: .bytes)
        let object = "\(server.url)/birds/film.bin"
        var multipart = MultipartUpload { step in
            switch step {
            case .create: "\(object)?uploads="
            case .part(let number, let upload): "\(object)?partNumber=\(number)&uploadId=\(upload)"
            case .complete(let upload), .abort(let upload): "\(object)?uploadId=\(upload)"
            }
        }
        multipart.partSize = .mebibytes(5)
        let folder = try ScratchFolder()
        let content = [UInt8](unsafeUninitializedCapacity: 12 << 20) { buffer, count in
            for index in 0..<(12 << 20) { buffer[index] = UInt8(truncatingIfNeeded: index &* 7 &+ index >> 13) }
            count = 12 << 20
        }
        let path = try folder.write("film.bin", content)
        let receipt = try await api.upload(file: path, multipart: multipart)
        #expect(receipt.entityTag != nil)
        #expect(try await api.get("birds/film.bin", as: .bytes) == content)
    }
}
