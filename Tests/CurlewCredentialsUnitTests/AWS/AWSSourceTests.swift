import Curlew
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Sources of AWS credentials")
struct AWSSourceTests {
    @Test("an environment gives a key with its secret, token and expiration")
    func environment() throws {
        let credential = try #require(
            try AWSCredential(environment: [
                "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
                "AWS_CREDENTIAL_EXPIRATION": "2013-05-24T00:00:00Z",
            ]))
        #expect(
            try credential
                == AWSCredential(
                    accessKey: "AKID", secretKey: "secret", sessionToken: "token",
                    expiration: Date(timeIntervalSince1970: 1_369_353_600)))
        #expect(
            try credential
                != AWSCredential(
                    accessKey: "AKID", secretKey: "other", sessionToken: "token",
                    expiration: Date(timeIntervalSince1970: 1_369_353_600)))
        #expect(credential.sessionToken == "token")
        #expect(credential.expiration == Date(timeIntervalSince1970: 1_369_353_600))
        #expect(try AWSCredential(environment: ["AWS_ACCESS_KEY_ID": ""]) == nil)
        #expect(throws: CurlewError.self) { try AWSCredential(environment: ["AWS_ACCESS_KEY_ID": "AKID"]) }
        #expect(throws: CurlewError.self) {
            try AWSCredential(environment: [
                "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CREDENTIAL_EXPIRATION": "soon",
            ])
        }
    }

    @Test("a shared file gives the key of a profile, whose name is compared as bytes")
    func sharedFile() throws {
        let file = Array(
            """
            [default]
            aws_access_key_id = AKID
            aws_secret_access_key = secret
            [e\u{301}]
            aws_access_key_id = OTHER
            aws_secret_access_key = other
            aws_session_token = token
            [half]
            aws_access_key_id = HALF
            [empty]
            """.utf8)
        #expect(try AWSCredential(sharedFile: file, profile: "default")?.accessKey == "AKID")
        #expect(try AWSCredential(sharedFile: file, profile: "e\u{301}")?.sessionToken == "token")
        #expect(try AWSCredential(sharedFile: file, profile: "\u{E9}") == nil)
        #expect(try AWSCredential(sharedFile: file, profile: "empty") == nil)
        #expect(throws: CurlewError.self) { try AWSCredential(sharedFile: file, profile: "half") }
        #expect(throws: CurlewError.self) {
            try AWSCredential(sharedFile: [UInt8](repeating: 0x0A, count: 1 << 20 + 1), profile: "default")
        }
        #expect(throws: CurlewError.self) { try AWSCredential(sharedFile: [0xFF], profile: "default") }
    }

    @Test("two profiles with canonically equivalent names are distinct")
    func equivalentNames() throws {
        let file = try AWSProfileFile(Array("[e\u{301}]\nx=1\n[\u{E9}]\nx=2\n".utf8))
        #expect(try file.text(of: "x", in: "e\u{301}") == "1")
        #expect(try file.text(of: "x", in: "\u{E9}") == "2")
    }

    @Test("a response of a metadata service gives a key, and its error is reported")
    func answer() throws {
        let text = """
            {"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIA", "SecretAccessKey": "secret",
            "Token": "token",
            "LastUpdated": "2012-04-26T16:39:16Z", "Expiration": "2017-05-17T15:09:54Z"}
            """
        let answer = try JSONDecoder().decode(AWSRoleAnswer.self, from: Data(text.utf8))
        #expect(try answer.credential.accessKey == "ASIA")
        #expect(try answer.credential.isExpired(at: Date(timeIntervalSince1970: 1_500_000_000)))
        let refusal = try JSONDecoder().decode(
            AWSRoleAnswer.self,
            from: Data(#"{"Code": "Assume\nRole", "Message": "no trust", "SecretAccessKey": "se"}"#.utf8))
        let error = #expect(throws: CurlewError.self) { try refusal.credential }
        #expect(error?.message == "the metadata service gave no credential (Assume\\nRole: no trust)")
    }

    @Test("a container's endpoint is on this machine, has an address of ECS or EKS, or uses HTTPS")
    func container() throws {
        #expect(
            try AWSContainerEndpoint(environment: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"])?.uri
                == "http://169.254.170.2/v2/x")
        for uri in [
            "http://localhost:80/a", "http://127.0.0.1/", "http://[::1]:9/", "https://example.com/",
            "http://[fd00:ec2::23]/",
        ] {
            let endpoint = try AWSContainerEndpoint(environment: [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic x",
            ])
            #expect(endpoint?.authorization == "Basic x")
        }
        for uri in [
            "http://example.com/", "http://127.0.0.1@example.com/", "ftp://localhost/", "http://localhost.example.com/",
            "http://127.0.0.1:80@example.com/", "http://[::1]x/",
        ] {
            #expect(throws: CurlewError.self, "\(uri)") {
                try AWSContainerEndpoint(environment: ["AWS_CONTAINER_CREDENTIALS_FULL_URI": uri])
            }
        }
        #expect(throws: CurlewError.self) {
            try AWSContainerEndpoint(environment: [
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "a\r\nb",
            ])
        }
        #expect(try AWSContainerEndpoint(environment: [:]) == nil)
        let withFile = try #require(
            try AWSContainerEndpoint(environment: [
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic x",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/run/token",
            ]))
        #expect(withFile.authorizationFile == "/run/token")
        #expect(withFile.authorization == nil)
    }

    @Test("descriptions of a credential contain no secrets")
    func secrets() throws {
        let credential = try AWSCredential(accessKey: "AKID", secretKey: "SECRETKEY", sessionToken: "SECRETTOKEN")
        SecretCheck.expectNone(of: ["SECRET", "83, 69, 67"], in: credential)
        let signature = try AWSSignature(service: "s3", region: "a")
        let signer = try signature.signedInChunks(
            .init(method: .put, scheme: "https", authority: "a", path: "/"), length: 1, credential: credential,
            at: Date()
        ).signer
        SecretCheck.expectNone(of: ["SECRET", "83, 69, 67"], in: signer)
        SecretCheck.expectNone(of: ["SECRET", "83, 69, 67"], in: AWSSignature.Payload.bytes(Array("SECRET".utf8)))
        let answer = #"{"AccessKeyId": "ASIA", "SecretAccessKey": "SECRET", "Token": "SECRET"}"#
        SecretCheck.expectNone(
            of: ["SECRET"], in: try JSONDecoder().decode(AWSRoleAnswer.self, from: Data(answer.utf8)))
        let endpoint = try AWSContainerEndpoint(environment: [
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/SECRET", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "SECRET",
        ])
        SecretCheck.expectNone(of: ["SECRET"], in: try #require(endpoint))
        for (key, secret, token) in [("", "s", ""), ("a b", "s", ""), ("a", "", ""), ("a", "SECRET", "SECRET\n")] {
            let error = #expect(throws: CurlewError.self) {
                try AWSCredential(accessKey: key, secretKey: secret, sessionToken: token)
            }
            #expect(error?.description.contains("SECRET") == false)
        }
    }
}
