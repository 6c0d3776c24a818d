import HTTPTypes
import Testing

@testable import CurlewCore

/// RFC 9110 §11.2 and §11.6.1, RFC 7616 §3.3: one challenge in all notations of the grammar.
@Suite("Challenges in every notation")
struct ChallengeVariationTests {
    private static let parameters = [
        ("realm", "a b", true), ("nonce", "n/1+=", true), ("qop", "auth,auth-int", true),
        ("algorithm", "SHA-256", false),
        ("opaque", "o", true), ("stale", "true", false), ("userhash", "false", false), ("charset", "UTF-8", false),
    ]

    private func digest(_ text: String) -> DigestChallenge? {
        ChallengeAuthentication.Challenge.all(in: text).first.flatMap(DigestChallenge.init)
    }

    @Test("white space, letter case, quotes, order and unknown parameters have no effect")
    func spellings() throws {
        let equals = ["=", " =", "= ", "\t= \t"]
        let commas = [",", ", ", " ,", " , ", ",,", ", ,\t"]
        let schemes = ["Digest ", "DIGEST  ", "digest\t"]
        for (index, equal) in equals.enumerated() {
            for comma in commas {
                for order in 0..<Self.parameters.count {
                    let turned = Self.parameters[order...] + Self.parameters[..<order]
                    let members = turned.map { name, value, needsQuotes in
                        let name = order.isMultiple(of: 2) ? name : name.uppercased()
                        let quote = needsQuotes || comma.count.isMultiple(of: 2) ? "\"" : ""
                        return "\(name)\(equal)\(quote)\(value)\(quote)"
                    }
                    let unknown = ["x-new\(equal)1", "y\(equal)\"a, b=c\""]
                    let text = schemes[index % 3] + (unknown + members).joined(separator: comma)
                    let read = try #require(digest(text), "\(text)")
                    #expect(read.realm == "a b" && read.nonce == "n/1+=" && read.opaque == "o", "\(text)")
                    #expect(read.qualities == [.auth, .authInt] && read.algorithm.name == "SHA-256", "\(text)")
                    #expect(read.isStale, "\(text)")
                }
            }
        }
    }

    @Test(
        "a qop without a known value counts as absent",
        arguments: [
            ("qop=\"\"", []), ("qop=", []), ("qop=\" \"", []), ("qop=\",\"", []), ("qop=\"auth-conf\"", []),
            ("qop=auth-conf", []), ("qop=\"auth-conf, x\"", []), ("", []), ("qop=auth", [.auth]),
            ("qop=\"AUTH\"", [.auth]), ("qop=\"auth-conf,auth\"", [.auth]),
            ("qop=\"auth auth-int\"", [.auth, .authInt]),
            ("qop=\"x,auth-int\"", [.authInt]), ("qop=\"\", qop=auth", []),
        ] as [(String, [DigestChallenge.Quality])])
    func qualities(_ member: String, _ expected: [DigestChallenge.Quality]) throws {
        for text in ["Digest realm=r, nonce=n, \(member)", "Digest \(member), realm=r, nonce=n"] {
            #expect(try #require(digest(text)).qualities == expected, "\(text)")
        }
        // A session hash requires the client's nonce.
        #expect((digest("Digest nonce=n, algorithm=MD5-sess, \(member)") == nil) == expected.isEmpty)
    }

    @Test("a challenge without a known qop is answered as in RFC 2069")
    func answer() async throws {
        // The example is from RFC 2069 §2.4, with the response of its errata.
        let challenge = try #require(
            digest(
                "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", qop=\"\", opaque=\"o\""
            ))
        let answer = DigestAnswer(
            challenge: challenge, user: "Mufasa", password: "CircleOfLife", count: 1, clientNonce: "c")
        let value = String(
            decoding: try await answer.value(method: .get, target: "/dir/index.html") { _ in "" }, as: UTF8.self)
        #expect(value.contains("response=\"1949323746fe6a43ef61f9606e7febea\""))
        #expect(!value.contains("qop") && !value.contains("cnonce") && !value.contains("nc="))
    }

    @Test(
        "an empty algorithm is MD5, and an unknown one is not answered",
        arguments: [
            ("algorithm=\"\"", "MD5"), ("algorithm=md5", "MD5"), ("algorithm=\"SHA-512-256\"", "SHA-512-256"),
            ("algorithm=SHA-1", nil), ("algorithm=\"MD5 \"", nil), ("algorithm=token", nil),
        ] as [(String, String?)])
    func algorithms(_ member: String, _ name: String?) {
        #expect(digest("Digest nonce=n, qop=auth, \(member)")?.algorithm.name == name)
    }
}
