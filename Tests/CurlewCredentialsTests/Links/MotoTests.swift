import Curlew
import CurlewCredentials
import CurlewTesting
import Foundation
import HTTPTypes
import Testing

/// Requests to moto, an independent server of S3's protocol that verifies signatures with botocore's rules.
///
/// `make test-aws` installs it and sets `CURLEW_MOTO_PYTHON`.
@Suite("Requests to an independent S3 server", .serialized, .timeLimit(.minutes(5)))
struct MotoTests {
    private static let python = ProcessInfo.processInfo.environment["CURLEW_MOTO_PYTHON"]

    /// The process of moto, with a user that has every permission.
    private final class Server {
        let url: String
        private let process = Process()
        private let output = Pipe()

        init(python: String) throws {
            process.executableURL = URL(filePath: python)
            process.arguments = ["-m", "moto.server", "-p", "0"]
            // moto prints its address once, and later one line for each request.
            process.standardError = output
            process.standardOutput = output
            try process.run()
            var text = ""
            var address: Substring?
            while address == nil {
                let more = output.fileHandleForReading.availableData
                guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
                text += String(decoding: more, as: UTF8.self)
                address = text.firstMatch(of: /Running on (http:\/\/127\.0\.0\.1:\d+)\s/)?.1
            }
            url = String(try #require(address))
            output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
        }

        deinit {
            output.fileHandleForReading.readabilityHandler = nil
            process.terminate()
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

    @Test("signed bodies, unsigned bodies and signed chunks are stored and returned", .enabled(if: python != nil))
    func objects() async throws {
        let server = try Server(python: try #require(Self.python))
        let credential = try await Self.credential(server.url)
        let api = try Self.session(server.url, "s3", credential, rule: .hashed)
        _ = try await api.put("birds", as: .bytes)
        let content = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for (rule, name) in [(AWSSigning.BodyRule.hashed, "a b+c/é.bin"), (.chunks(of: .kibibytes(64)), "chunks")] {
            let session = try Self.session(server.url, "s3", credential, rule: rule)
            let path = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["/"]))!
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

    @Test("a file is uploaded in parts by presigned URLs", .enabled(if: python != nil))
    func parts() async throws {
        let server = try Server(python: try #require(Self.python))
        let credential = try await Self.credential(server.url)
        let api = try Self.session(server.url, "s3", credential, rule: .hashed)
        _ = try await api.put("birds", as: .bytes)
        let signature = try AWSSignature(service: "s3", region: "us-east-1")
        let authority = String(server.url.dropFirst("http://".count))
        var multipart = MultipartUpload { step in
            let (method, query): (HTTPRequest.Method, String) =
                switch step {
                case .create: (.post, "uploads=")
                case .part(let number, let upload): (.put, "partNumber=\(number)&uploadId=\(upload)")
                case .complete(let upload): (.post, "uploadId=\(upload)")
                case .abort(let upload): (.delete, "uploadId=\(upload)")
                }
            let request = HTTPRequest(
                method: method, scheme: "http", authority: authority, path: "/birds/film.bin?\(query)")
            let signed = try signature.presigned(request, credential: credential, at: Date(), validity: .seconds(600))
            return "http://\(authority)\(try #require(signed.path))"
        }
        multipart.partSize = .mebibytes(5)
        let folder = try TemporaryFolder()
        let content = [UInt8](unsafeUninitializedCapacity: 12 << 20) { buffer, count in
            for index in 0..<(12 << 20) { buffer[index] = UInt8(truncatingIfNeeded: index &* 7 &+ index >> 13) }
            count = 12 << 20
        }
        let path = try folder.write(content, to: "film.bin")
        let plain = try HTTPSession()
        let receipt = try await plain.upload(file: path, multipart: multipart)
        #expect(receipt.entityTag != nil)
        #expect(try await api.get("birds/film.bin", as: .bytes) == content)
    }
}
