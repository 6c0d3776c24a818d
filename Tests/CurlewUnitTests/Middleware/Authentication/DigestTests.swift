import HTTPTypes
import Testing

@testable import CurlewCore

/// The examples of RFC 7616 §3.9 and RFC 2617 §3.5.
@Suite("Digest answers")
struct DigestTests {
    private func response(
        _ challenge: String, user: String, password: String, clientNonce: String, count: UInt32 = 1, body: String = ""
    ) async throws -> [String: String] {
        let read = try #require(
            ChallengeAuthentication.Challenge.all(in: challenge).first.flatMap(DigestChallenge.init))
        let answer = DigestAnswer(
            challenge: read, user: user, password: password, count: count, clientNonce: clientNonce)
        let value = try await answer.value(method: .get, target: "/dir/index.html") { algorithm in
            try await CurlewRequest.Body.string(body).hash(by: algorithm)
        }
        let text = String(decoding: value, as: UTF8.self)
        return ChallengeAuthentication.Challenge.all(in: text).first?.parameters ?? [:]
    }

    private let nonces = "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", qop=\"auth\""

    @Test("the examples of RFC 7616 are reproduced")
    func examples() async throws {
        for (algorithm, expected) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let parameters = try await response(
                "Digest realm=\"http-auth@example.org\", \(nonces), algorithm=\(algorithm), "
                    + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
                user: "Mufasa", password: "Circle of Life",
                clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
            #expect(parameters["response"] == expected)
            #expect(parameters["nc"] == "00000001")
            #expect(parameters["algorithm"] == algorithm)
            #expect(parameters["opaque"] == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS")
            #expect(parameters["uri"] == "/dir/index.html")
            #expect(parameters["username"] == "Mufasa")
        }
    }

    @Test("a server of RFC 2069 gets an answer without nonce count and client nonce")
    func old() async throws {
        let parameters = try await response(
            "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
            user: "Mufasa", password: "CircleOfLife", clientNonce: "x")
        #expect(parameters["response"] == "1949323746fe6a43ef61f9606e7febea")
        #expect(parameters["nc"] == nil)
        #expect(parameters["cnonce"] == nil)
        #expect(parameters["algorithm"] == nil)
    }

    @Test("user hash, session algorithms, integrity and names beyond ASCII are sent as RFC 7616 defines them")
    func variants() async throws {
        let hashed = try await response(
            "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256, userhash=true", user: "u", password: "p",
            clientNonce: "c")
        #expect(hashed["userhash"] == "true")
        #expect(try hashed["username"] == MessageDigest.hash("u:r", by: .sha256))
        let named = try await response(
            "Digest realm=r, nonce=n, qop=auth, charset=UTF-8", user: "J\u{E4}s\u{F8}n Doe", password: "p",
            clientNonce: "c")
        #expect(named["username*"] == "UTF-8''J%C3%A4s%C3%B8n%20Doe")
        #expect(named["username"] == nil)
        let session = try await response(
            "Digest realm=r, nonce=n, qop=\"auth-int\", algorithm=SHA-512-256-sess", user: "u", password: "p",
            clientNonce: "c", count: 0x1F, body: "body")
        func hash(_ text: String) throws -> String { try MessageDigest.hash(text, by: .sha512Truncated) }
        let secret = try hash("\(hash("u:r:p")):n:c")
        let message = try hash("GET:/dir/index.html:\(hash("body"))")
        #expect(try session["response"] == hash("\(secret):n:0000001f:c:auth-int:\(message)"))
        #expect(session["qop"] == "auth-int")
    }

    @Test("quotes in a realm are escaped, and control characters are not sent")
    func quoting() async throws {
        let parameters = try await response(
            "Digest realm=\"a\\\"b\\\\c\", nonce=n, qop=auth", user: "q\"u", password: "p", clientNonce: "c")
        #expect(parameters["realm"] == "a\"b\\c")
        #expect(parameters["username"] == "q\"u")
        // A combining mark does not hide the character before it.
        let combining = try await response(
            "Digest realm=\"a\\\"\u{313}b\\\\\u{313}\", nonce=n, qop=auth", user: "q\"\u{313}u", password: "p",
            clientNonce: "c")
        #expect(combining["realm"].map { Array($0.utf8) } == Array("a\"\u{313}b\\\u{313}".utf8))
        #expect(combining["username"].map { Array($0.utf8) } == Array("q\"\u{313}u".utf8))
        await #expect(throws: CurlewError.self) {
            try await response("Digest realm=r, nonce=n", user: "u\r\nX: y", password: "p", clientNonce: "c")
        }
    }

    @Test("SHA-512/256 follows FIPS 180-4")
    func truncated() throws {
        #expect(
            try MessageDigest.hash("abc", by: .sha512Truncated)
                == "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23")
    }
}
