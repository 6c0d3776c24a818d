import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Sources of AWS credentials over HTTP and in files", .endsServers, .timeLimit(.minutes(2)))
struct AWSCredentialSourceTests {
    static let answer = """
        {"AccessKeyId": "ASIA", "SecretAccessKey": "SECRETKEY", "Token": "SECRETTOKEN", "Expiration": "2037-05-17T15:09:54Z"}
        """

    @Test("a container's endpoint returns a credential for the token of the environment")
    func container() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .string(Self.answer)) }
        let folder = try ScratchFolder()
        let file = try folder.write("Basic FILE\n", mode: 0o644)
        for (name, value, sent) in [
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic PLAIN", "Basic PLAIN"),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file, "Basic FILE"),
        ] {
            let source = AWSCredentialSource.container(environment: [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url("/role?a=b"), name: value,
            ])
            #expect(try await source.credential().accessKey == "ASIA")
            let received = try #require(await server.takeRequest())
            #expect(received.target == "/role?a=b")
            #expect(received.fields[.authorization] == sent)
        }
    }

    @Test("an invalid response of a container's endpoint is an error that does not quote it")
    func badAnswers() async throws {
        for response in [
            MockResponse(status: .forbidden, body: "SECRET"), MockResponse(body: "<html>SECRET"),
            MockResponse(status: .found, fields: [.location: "http://127.0.0.1:1/"]),
            MockResponse(body: #"{"AccessKeyId": "SECRET"}"#),
        ] {
            let server = try await MockServer.start { _ in response }
            let source = AWSCredentialSource.container(environment: [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url()
            ])
            let error = await curlewError { _ = try await source.credential() }
            #expect(error?.code == .invalidCredential)
            #expect(error?.description.contains("SECRET") == false)
            #expect(server.requestCount == 1)
        }
        let large = try await MockServer.start { _ in MockResponse(body: .bytes([UInt8](repeating: 32, count: 70_000)))
        }
        let source = AWSCredentialSource.container(environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": large.url()])
        #expect(await curlewError { _ = try await source.credential() }?.code == .responseTooLarge)
    }

    @Test("an instance's metadata service is queried by version 2 of its protocol")
    func instance() async throws {
        let server = try await MockServer.start { request in
            switch (request.method, request.target) {
            case (.put, "/latest/api/token"):
                guard request.fields[.init("X-aws-ec2-metadata-token-ttl-seconds")!] == "21600" else { break }
                return MockResponse(body: "TOKEN")
            case (.get, "/latest/meta-data/iam/security-credentials/"):
                guard request.fields[.init("X-aws-ec2-metadata-token")!] == "TOKEN" else { break }
                return MockResponse(body: "my-role\n")
            case (.get, "/latest/meta-data/iam/security-credentials/my-role"):
                guard request.fields[.init("X-aws-ec2-metadata-token")!] == "TOKEN" else { break }
                return MockResponse(body: .string(Self.answer))
            default: break
            }
            return MockResponse(status: .unauthorized)
        }
        let source = AWSCredentialSource.instanceMetadata(endpoint: String(server.url().dropLast()))
        #expect(try await source.credential().sessionToken == "SECRETTOKEN")
        #expect(server.requestCount == 3)
    }

    @Test("a role whose name would change the path is refused", arguments: ["../../user-data", "a b", "", "a/b", "é"])
    func badRole(_ name: String) async throws {
        let server = try await MockServer.start { request in
            MockResponse(body: .string(request.method == .put ? "TOKEN" : name))
        }
        let source = AWSCredentialSource.instanceMetadata(endpoint: String(server.url().dropLast()))
        #expect(await curlewError { _ = try await source.credential() }?.code == .invalidCredential)
        #expect(server.requestCount == 2)
    }

    @Test("the standard sources do not query an instance's metadata service, and the first credential is used")
    func order() async throws {
        let folder = try ScratchFolder()
        let file = try folder.write("[build]\naws_access_key_id = FILE\naws_secret_access_key = s\n", mode: 0o600)
        let variables = ["AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "build"]
        let sources: [AWSCredentialSource] = [.environment([:]), .sharedFile(environment: variables)]
        #expect(try await AWSCredentialSource.first(of: sources).credential().accessKey == "FILE")
        let environment = ["AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"]
        #expect(
            try await AWSCredentialSource.first(of: [.environment(environment)] + sources).credential().accessKey
                == "ENV")
        #expect(
            await curlewError { _ = try await AWSCredentialSource.sharedFile("\(folder.path)/none").credential() }?.code
                == .credentialUnavailable)
        let open = try folder.write("[default]\n", mode: 0o644)
        #expect(
            await curlewError { _ = try await AWSCredentialSource.sharedFile(open).credential() }?.code
                == .credentialFileExposed)
    }
}
