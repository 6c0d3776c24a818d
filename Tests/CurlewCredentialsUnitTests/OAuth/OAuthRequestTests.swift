import Curlew
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Requests to an authorization server")
struct OAuthRequestTests {
    func form(
        _ request: OAuth.Request, _ authentication: OAuth.ClientAuthentication = .none, client: String = "s6BhdRkqt3"
    ) throws -> (fields: HTTPFields, body: String) {
        var numbers = FixedNumbers([])
        let form = try OAuth.Client(client, authentication).form(
            of: request, endpoint: "https://as.example.com/token", at: Date(timeIntervalSince1970: 0), using: &numbers)
        return (form.fields, String(decoding: form.body, as: UTF8.self))
    }

    @Test("each request has the parameters of its RFC")
    func forms() throws {
        let key = try OAuth.ProofKey(verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(key.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        let cases: [(OAuth.Request, String)] = [
            (try .clientCredentials(), "grant_type=client_credentials&client_id=s6BhdRkqt3"),
            (
                try .clientCredentials(scopes: ["a", "b:c"]).adding("audience", "x y"),
                "grant_type=client_credentials&scope=a+b%3Ac&audience=x+y&client_id=s6BhdRkqt3"
            ),
            (try .refresh("tGzv3J"), "grant_type=refresh_token&refresh_token=tGzv3J&client_id=s6BhdRkqt3"),
            (
                .authorizationCode("Spl", redirectURI: "https://client.example.com/cb", proofKey: key),
                "grant_type=authorization_code&code=Spl&redirect_uri=https%3A%2F%2Fclient.example.com%2Fcb"
                    + "&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk&client_id=s6BhdRkqt3"
            ),
            (try .deviceAuthorization(), "client_id=s6BhdRkqt3"),
            (
                .revocation(of: "45gh", hint: "refresh_token"),
                "token=45gh&token_type_hint=refresh_token&client_id=s6BhdRkqt3"
            ),
            (
                try .exchange(
                    OAuth.TypedToken("subject"), actor: OAuth.TypedToken("actor", type: .jwt),
                    resources: ["https://a.example"], audiences: ["b", "c"], requestedType: .accessToken),
                """
                grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&resource=https%3A%2F%2Fa.example\
                &audience=b&audience=c\
                &requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token\
                &subject_token=subject&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token\
                &actor_token=actor&actor_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt\
                &client_id=s6BhdRkqt3
                """
            ),
        ]
        for (request, body) in cases { #expect(try form(request).body == body) }
    }

    @Test("a client's secret is sent form-encoded in Authorization, or in the form")
    func secrets() throws {
        let basic = try form(.clientCredentials(), .basic(secret: "gX1fBat3bV"))
        #expect(basic.fields[.authorization] == "Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW")
        #expect(basic.body == "grant_type=client_credentials")
        let odd = try form(.clientCredentials(), .basic(secret: "a b:é%+"), client: "x:y")
        let value = try #require(odd.fields[.authorization])
        let pair = try #require(Base64.decode(value.dropFirst(6).utf8))
        #expect(String(decoding: pair, as: UTF8.self) == "x%3Ay:a+b%3A%C3%A9%25%2B")
        let post = try form(.clientCredentials(), .post(secret: "7Fjfp0ZBr1KtDRbnfVdmIw+"))
        #expect(
            post.body == "grant_type=client_credentials&client_id=s6BhdRkqt3&client_secret=7Fjfp0ZBr1KtDRbnfVdmIw%2B")
        #expect(post.fields[.authorization] == nil)
    }

    @Test("a parameter that the request already has, or that the client's authentication adds, is refused")
    func repeatedParameters() throws {
        let request = try OAuth.Request.clientCredentials().adding("x", "1").adding("resource", "a").adding(
            "resource", "b")
        for name in ["grant_type", "scope", "client_id", "client_secret", "client_assertion", "x", ""] {
            let error = #expect(throws: CurlewError.self, "\(name)") { try request.adding(name, "SECRET") }
            #expect(error?.code == .invalidRequest)
            #expect(error?.description.contains("SECRET") == false)
        }
        #expect(throws: CurlewError.self) { try OAuth.Request.refresh("r").adding("refresh_token", "s") }
        #expect(try form(request).body.contains("resource=a&resource=b"))
    }

    @Test(
        "a scope that is empty or consists of several scopes is refused",
        arguments: ["", "a b", "a\"b", "a\\b", "é", "a\n"])
    func scopes(_ scope: String) {
        #expect(throws: CurlewError.self) { try OAuth.Request.clientCredentials(scopes: [scope]) }
    }

    @Test("a new proof key has 43 characters, and an invalid verifier is refused")
    func proofKey() throws {
        let (first, second) = (try OAuth.ProofKey(), try OAuth.ProofKey())
        #expect(first.verifier.utf8.count == 43)
        #expect(!first.verifier.hasSameBytes(as: second.verifier))
        for text in [
            "", String(repeating: "a", count: 42), String(repeating: "a", count: 129),
            String(repeating: "=", count: 50),
        ] {
            #expect(throws: CurlewError.self) { try OAuth.ProofKey(verifier: text) }
        }
    }

    @Test("descriptions of a request, a client and a form contain no secrets")
    func noSecrets() throws {
        let pem = try #require(AssertionOracleTests.results.get().keys["p256"])
        let key = try SigningKey(pem: pem)
        SecretCheck.expectNone(of: ["SECRET"], in: try OAuth.Request.refresh("SECRET"))
        SecretCheck.expectNone(of: ["SECRET"], in: OAuth.Request.revocation(of: "SECRET"))
        SecretCheck.expectNone(of: ["SECRET"], in: OAuth.TypedToken("SECRET"))
        let lines = pem.split(separator: "\n").dropFirst().dropLast().map(String.init)
        #expect(lines.count > 1)
        SecretCheck.expectNone(of: lines + ["PRIVATE"], in: key)
        SecretCheck.expectNone(of: ["SECRET"], in: try OAuth.Request.clientCredentials().adding("assertion", "SECRET"))
        let proofKey = try OAuth.ProofKey()
        SecretCheck.expectNone(of: [proofKey.verifier], in: proofKey)
        SecretCheck.expectNone(
            of: ["SECRET", "83, 69, 67"], in: try SigningKey(sharedSecret: Array("SECRETSECRETSECRET".utf8)))
        for authentication in [OAuth.ClientAuthentication.basic(secret: "SECRET"), .post(secret: "SECRET")] {
            let client = OAuth.Client("id", authentication)
            SecretCheck.expectNone(of: ["SECRET"], in: client)
            var numbers = FixedNumbers([])
            let form = try client.form(
                of: .refresh("SECRET"), endpoint: "https://a/", at: Date(), using: &numbers)
            SecretCheck.expectNone(of: ["SECRET", "83, 69, 67", "Basic "], in: form)
        }
    }
}
