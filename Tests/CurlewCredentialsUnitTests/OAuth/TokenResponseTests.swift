import Curlew
import Foundation
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Responses of a token endpoint")
struct TokenResponseTests {
    let moment = Date(timeIntervalSince1970: 1_000_000)

    func token(_ json: String, for request: OAuth.Request? = nil) throws -> OAuth.Token {
        try JSONDecoder().decode(OAuth.TokenResponse.self, from: Data(json.utf8))
            .token(for: request ?? .clientCredentials(), requestedAt: moment)
    }

    func failure(_ json: String, masking secrets: [String] = []) throws -> OAuth.Failure? {
        try JSONDecoder().decode(OAuth.FailureResponse.self, from: Data(json.utf8)).failure(masking: secrets)
    }

    @Test("the example of RFC 6749 is decoded")
    func example() throws {
        let token = try token(
            """
            {"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"example_is_bearer","expires_in":3600}
            """
            .replacing("example_is_bearer", with: "bEARER"))
        #expect(token.accessToken == "2YotnFZFEjr1zCsicMWpAA")
        #expect(token.expiration == moment.addingTimeInterval(3600))
        #expect(token.refreshToken == nil)
        #expect(token.scopes == nil)
    }

    @Test(
        "a lifetime is read in every form that servers send",
        arguments: [
            ("3600", 3600), ("0", 0), ("-1", 0), ("-9223372036854775808", 0), ("\"3600\"", 3600), ("\"-5\"", 0),
            ("3599.9", 3599),
            ("9223372036854775807", 3_162_240_000), ("9223372036854775808", 3_162_240_000), ("1e300", 3_162_240_000),
            ("\"9223372036854775808\"", 3_162_240_000), ("\"-99999999999999999999\"", 0), ("3.6e3", 3600),
        ])
    func lifetimes(_ text: String, _ seconds: Double) throws {
        let token = try token("{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":\(text)}")
        #expect(token.expiration == moment.addingTimeInterval(seconds))
        #expect(token.isExpired(at: moment) == (seconds == 0))
    }

    @Test("a token whose lifetime is missing or null does not expire", arguments: ["", ",\"expires_in\":null"])
    func noLifetime(_ text: String) throws {
        #expect(try token("{\"access_token\":\"a\",\"token_type\":\"Bearer\"\(text)}").expiration == nil)
    }

    @Test(
        "a lifetime that is not a number is an error",
        arguments: ["\"soon\"", "\"\"", "\"1.5\"", "\"--1\"", "\"1 \"", "true", "[1]", "{}"])
    func badLifetimes(_ text: String) {
        #expect(throws: (any Error).self) {
            try token("{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":\(text)}")
        }
    }

    @Test(
        "a response without a usable Bearer token is an error that does not quote the token",
        arguments: [
            #"{"token_type":"Bearer"}"#, #"{"access_token":"SECRET"}"#,
            #"{"access_token":"SECRET","token_type":"mac"}"#,
            #"{"access_token":"SECRET","token_type":"N_A"}"#, #"{"access_token":"","token_type":"Bearer"}"#,
            #"{"access_token":"SECRET SECRET","token_type":"Bearer"}"#,
            #"{"access_token":"SECRET\n","token_type":"Bearer"}"#,
            #"{"access_token":"SECRET\u00e9","token_type":"Bearer"}"#, #"{"access_token":null,"token_type":"Bearer"}"#,
            #"{"access_token":"a","token_type":"Bearer","refresh_token":"SECRET\r"}"#,
            #"{"access_token":"a","token_type":"\#u{212A}"}"#,
        ])
    func refusals(_ json: String) {
        let error = #expect(throws: CurlewError.self) { try token(json) }
        #expect(error?.code == .invalidToken)
        #expect(error?.description.contains("SECRET") == false)
    }

    @Test("a token beyond its limit is refused")
    func limit() throws {
        let long = String(repeating: "a", count: OAuth.Token.sizeLimit)
        #expect(try token("{\"access_token\":\"\(long)\",\"token_type\":\"Bearer\"}").accessToken.utf8.count == 65_536)
        #expect(throws: CurlewError.self) {
            try token("{\"access_token\":\"\(long)a\",\"token_type\":\"Bearer\"}")
        }
        #expect(throws: CurlewError.self) {
            try token("{\"access_token\":\"a\",\"refresh_token\":\"\(long)a\",\"token_type\":\"Bearer\"}")
        }
    }

    @Test("a refresh token is kept if the server sends no new one")
    func refreshToken() throws {
        let old = try OAuth.Token(accessToken: "a", refreshToken: "old", scopes: ["x"])
        let renewed = try OAuth.Token(accessToken: "b").continuing(old)
        #expect(renewed.refreshToken == "old")
        #expect(renewed.scopes == ["x"])
        let replaced = try OAuth.Token(accessToken: "b", refreshToken: "new").continuing(old)
        #expect(replaced.refreshToken == "new")
        #expect(replaced.scopes == ["x"])
    }

    @Test("scopes are those of the server, or else the requested ones, or else the old ones")
    func scopes() throws {
        let old = try OAuth.Token(accessToken: "a", refreshToken: "old", scopes: ["x", "y"])
        let answer = #"{"access_token":"a","token_type":"Bearer"}"#
        let named = #"{"access_token":"a","token_type":"Bearer","scope":"z"}"#
        #expect(try token(answer, for: .refresh("r", scopes: ["y"])).continuing(old).scopes == ["y"])
        #expect(try token(answer, for: .refresh("r")).continuing(old).scopes == ["x", "y"])
        #expect(try token(named, for: .refresh("r", scopes: ["y"])).continuing(old).scopes == ["z"])
        #expect(try token(answer, for: .clientCredentials(scopes: ["a", "b"])).scopes == ["a", "b"])
    }

    @Test("a token exchange may return any type, but the response must name the requested type")
    func exchange() throws {
        let answer = { (type: String, issued: String) in
            "{\"access_token\":\"a\",\"token_type\":\"\(type)\"\(issued)}"
        }
        let idToken = #","issued_token_type":"urn:ietf:params:oauth:token-type:id_token""#
        let subject = OAuth.TypedToken("subject")
        let brought = try token(answer("N_A", idToken), for: .exchange(subject))
        #expect(brought.issuedType == OAuth.TokenType.idToken.identifier)
        #expect(!brought.isBearer)
        #expect(try token(answer("n_a", idToken), for: .exchange(subject, requestedType: .idToken)) == brought)
        #expect(try token(answer("Bearer", idToken), for: .exchange(subject)).isBearer)
        for (json, request) in [
            (answer("N_A", ""), try OAuth.Request.exchange(subject)),
            (answer("Bearer", #","issued_token_type":"""#), try .exchange(subject)),
            (answer("N_A", idToken), try .exchange(subject, requestedType: .jwt)),
            (answer("mac", idToken), try .exchange(subject)), (answer("N_A", idToken), try .clientCredentials()),
        ] {
            let error = #expect(throws: CurlewError.self) { try token(json, for: request) }
            #expect(error?.code == .invalidToken)
        }
        #expect(try JSONDecoder().decode(OAuth.Token.self, from: JSONEncoder().encode(brought)) == brought)
    }

    @Test("a token is restored from a store, and invalid text of a store is an error")
    func coding() throws {
        let token = try OAuth.Token(
            accessToken: "a", refreshToken: "r", expiration: moment, scopes: ["x"], issuedType: "t")
        #expect(try JSONDecoder().decode(OAuth.Token.self, from: JSONEncoder().encode(token)) == token)
        #expect(throws: CurlewError.self) {
            try JSONDecoder().decode(OAuth.Token.self, from: Data(#"{"accessToken":"a\nb"}"#.utf8))
        }
    }

    @Test("descriptions of a token do not contain it")
    func secrets() throws {
        let token = try OAuth.Token(accessToken: "SECRETA", refreshToken: "SECRETB", expiration: moment, scopes: ["x"])
        SecretCheck.expectNone(of: ["SECRET"], in: token)
        let answer = #"{"access_token":"SECRET","token_type":"Bearer","refresh_token":"SECRET"}"#
        SecretCheck.expectNone(
            of: ["SECRET"], in: try JSONDecoder().decode(OAuth.TokenResponse.self, from: Data(answer.utf8)))
    }

    @Test("the error of a refusal has the server's explanation and the address of its page")
    func failures() throws {
        let failure = try #require(
            try failure(
                #"{"error":"invalid_grant","error_description":"no\r\nsuch\u001b[31m é","#
                    + #""error_uri":"https://as.example/e"}"#
            ))
        #expect(failure.code == .invalidGrant)
        #expect(failure.explanation == "no\\r\\nsuch\\u{1B}[31m é")
        #expect(failure.page == "https://as.example/e")
        #expect(
            failure.description
                == "the authorization server refused: invalid_grant (no\\r\\nsuch\\u{1B}[31m é)")
    }

    @Test("invalid members of a refusal are ignored")
    func badFailures() throws {
        for name in [#""#, #"a\"b"#, #"a\\b"#, #"a\n"#, #"é"#, String(repeating: "x", count: 129)] {
            #expect(try failure("{\"error\":\"\(name)\"}") == nil)
        }
        #expect(throws: (any Error).self) { try failure("{}") }
        #expect(throws: (any Error).self) { try failure(#"{"error":1}"#) }
        let odd = try #require(try failure(#"{"error":"x","error_description":5,"error_uri":"javascript:alert(1)"}"#))
        #expect(odd.explanation == nil)
        #expect(odd.page == nil)
        #expect(try failure(#"{"error":"x","error_uri":"https://a/ b"}"#)?.page == nil)
        let long = String(repeating: "x", count: 3000)
        #expect(try failure("{\"error\":\"x\",\"error_description\":\"\(long)\"}")?.explanation?.count == 1024)
        let marks = String(repeating: "\u{202E}", count: 3000)
        #expect(try failure("{\"error\":\"x\",\"error_description\":\"\(marks)\"}")?.explanation?.count ?? 0 <= 1024)
    }

    @Test("an explanation that repeats a secret of the request is removed")
    func repeating() throws {
        let json = #"{"error":"x","error_description":"token SECRET unknown","error_uri":"https://a/SECRET"}"#
        let failure = try #require(try failure(json, masking: ["SECRET", ""]))
        #expect(failure.explanation == nil)
        #expect(failure.page == nil)
        let request = try OAuth.Request.clientCredentials().adding("assertion", "SECRETJWT")
        var numbers = FixedNumbers([])
        let form = try OAuth.Client("id").form(of: request, endpoint: "https://a/", at: moment, using: &numbers)
        let expired = #"{"error":"invalid_grant","error_description":"SECRETJWT expired"}"#
        #expect(try self.failure(expired, masking: form.secrets)?.explanation == nil)
        #expect(try self.failure(#"{"error":"SECRET"}"#, masking: ["SECRET"]) == nil)
        let encoded = #"{"error":"x","error_description":"bad form: client_secret=SECRET+a%2Fb"}"#
        #expect(try self.failure(encoded, masking: ["SECRET a/b"])?.explanation == nil)
        // A parameter such as an audience is often a word of the server.
        #expect(try self.failure(#"{"error":"invalid_client"}"#, masking: ["client", "i"])?.code == .invalidClient)
    }
}
