import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("The printed recipes for tokens and signatures", .endsServers, .timeLimit(.minutes(2)))
struct CredentialRecipeTests {
    /// A server that is unavailable for its first request.
    func server() async throws -> MockServer {
        try await MockServer.start { request in
            _ = try await request.body.collect()
            return MockResponse(
                status: request.exchangeIndex == 0 ? .serviceUnavailable : .ok, fields: [.retryAfter: "0"], body: "ok")
        }
    }

    @Test("the recipe for OAuth adds the token of the client")
    func oauth() async throws {
        let tokens = try await MockServer.start { _ in
            MockResponse(body: #"{"access_token":"t0ken","token_type":"Bearer","expires_in":60}"#)
        }
        let server = try await server()
        let api = try CredentialSnippets.prices(at: server.url(), tokens: tokens.url(), secret: "s")
        #expect(try await api.get("prices/1", as: .text) == "ok")
        for _ in 0..<2 { #expect(await server.takeRequest()?.fields[.authorization] == "Bearer t0ken") }
        #expect(await tokens.takeRequest()?.text == "grant_type=client_credentials&scope=prices%3Aread")
    }

    @Test("the recipe for S3 signs each attempt of an upload")
    func objects() async throws {
        let server = try await server()
        let folder = try ScratchFolder()
        let path = try folder.write("heron.jpg", Array("heron".utf8))
        let credential = try AWSCredential(accessKey: "AKID", secretKey: "SECRET")
        try await CredentialSnippets.photo(path, to: server.url(), .fixed(credential))
        for _ in 0..<2 {
            let received = try #require(await server.takeRequest())
            #expect(received.target == "/photos/heron.jpg")
            #expect(received.fields[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 Credential=AKID/") == true)
            #expect(received.fields[.amzContentSHA256] == (try Hashing.sha256(Array("heron".utf8))).hexadecimal)
        }
    }

    @Test("the recipe for message signatures signs requests, and rejects responses without a signature")
    func messages() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let key = try SigningKey(sharedSecret: Array("0123456789abcdef".utf8))
        let api = try CredentialSnippets.partner(at: server.url(), key, key.verificationKey)
        let error = await curlewError { _ = try await api.get("orders", as: .text) }
        #expect(error?.code == .signatureMissing)
        let received = try #require(await server.takeRequest())
        #expect(received.fields[SignatureMembers.inputName]?.hasPrefix("sig1=(\"@method\" \"@target-uri\"") == true)
    }

    @Test("the recipe for a scheme of one's own signs each attempt with its date, and no other origin")
    func ownScheme() async throws {
        let other = try await MockServer.start { _ in MockResponse(body: "other") }
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            guard request.target != "/moved" else {
                return MockResponse(status: .temporaryRedirect, fields: [.location: other.url()])
            }
            return MockResponse(
                status: request.exchangeIndex == 0 ? .serviceUnavailable : .ok, fields: [.retryAfter: "0"])
        }
        let seconds = Guarded(0.0)
        let signing = CredentialSnippets.ShopSigning(
            origin: try CurlewURI(server.url()).origin, sign: { Base64.encode(Array($0.utf8)) },
            now: {
                seconds.withLock { seconds in
                    seconds += 1
                    return Date(timeIntervalSince1970: seconds)
                }
            })
        let session = try HTTPSession(baseURL: server.url()) {
            StandardChain()
            signing
        }
        try await session.put("orders", .body(.string("egg")), as: .nothing)
        let digest = try ContentDigest(of: Array("egg".utf8)).fieldValue
        for second in 1...2 {
            let received = try #require(await server.takeRequest())
            #expect(received.text == "egg")
            #expect(received.fields[.contentDigest] == digest)
            #expect(received.fields[HTTPField.Name("X-Signed-At")!] == "1970-01-01T00:00:0\(second)Z")
            #expect(received.fields[HTTPField.Name("X-Signature")!] != nil)
        }
        #expect(try await session.get("moved", as: .text) == "other")
        let moved = try #require(await other.takeRequest())
        #expect(moved.fields[HTTPField.Name("X-Signature")!] == nil)
    }
}
