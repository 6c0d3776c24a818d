import HTTPTypes
import Testing

@testable import CurlewCore

@Suite("Authentication challenges")
struct ChallengeTests {
    private func read(_ values: String...) -> [String] {
        var head = HTTPResponse(status: .unauthorized)
        for value in values { head.headerFields.append(HTTPField(name: .wwwAuthenticate, value: value)) }
        return ChallengeAuthentication.Challenge.all(in: head).map { challenge in
            let parameters = challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return ([challenge.scheme.rawValue] + (challenge.token68.map { [$0] } ?? []) + parameters)
                .joined(separator: "|")
        }
    }

    @Test("several challenges are parsed from one field and from several")
    func several() {
        let digest = "Digest realm=\"a, b\", qop=\"auth, auth-int\", nonce=\"n\\\"\\\\\", algorithm=SHA-256"
        let expected = ["digest|algorithm=SHA-256|nonce=n\"\\|qop=auth, auth-int|realm=a, b", "basic|realm=c"]
        #expect(read(digest + ", Basic realm=\"c\"") == expected)
        #expect(read(digest, "Basic realm=\"c\"") == expected)
        #expect(
            read("Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"")
                == ["newauth|realm=apps|title=Login to \"apps\"|type=1", "basic|realm=simple"])
    }

    @Test("schemes without parameters and with a token68 are parsed")
    func tokens() {
        #expect(read("Negotiate, NTLM") == ["negotiate", "ntlm"])
        #expect(read("Negotiate YII-._~+/x==, Basic realm=a") == ["negotiate|YII-._~+/x==", "basic|realm=a"])
        #expect(read("NTLM TlRMTVNTUAAC") == ["ntlm|TlRMTVNTUAAC"])
        #expect(read("bearer") == ["bearer"])
    }

    @Test(
        "a malformed part of a challenge field leaves the other challenges readable",
        arguments: [
            ("", []), (",, ,", []), ("=", []), ("\"", []), ("realm=\"x\"", []), ("\"Basic\" realm=x", []),
            ("Basic realm=\"open", ["basic|realm=open"]), ("Basic realm=\"open\\", ["basic|realm=open\\"]),
            ("Basic realm=\"a\" charset=\"UTF-8\"", ["basic|charset=UTF-8|realm=a"]),
            ("Basic realm = \"a\"", ["basic|realm=a"]), ("Basic REALM=a,realm=b", ["basic|realm=a"]),
            ("  Basic   realm=a  ", ["basic|realm=a"]),
            ("Basic realm=a, , Digest nonce=b", ["basic|realm=a", "digest|nonce=b"]),
            ("Basic realm=\"a\"x, Digest nonce=b", ["basic|realm=a", "x", "digest|nonce=b"]),
            ("Basic; realm=a, Digest nonce=b", ["basic", "digest|nonce=b"]),
            ("@@@ \"x, y\", Basic realm=a", ["basic|realm=a"]), ("Basic realm=", ["basic|realm="]),
            ("Basic\trealm=a", ["basic|realm=a"]), ("Basic realm=\"\"", ["basic|realm="]),
        ] as [(String, [String])])
    func broken(_ value: String, _ expected: [String]) { #expect(read(value) == expected) }

    @Test("challenges and parameters are limited, and a long value is parsed fast")
    func bounds() {
        #expect(read(String(repeating: "Basic realm=a, ", count: 100)).count == ChallengeAuthentication.Challenge.limit)
        let many = "Digest " + (0..<100).map { "p\($0)=v" }.joined(separator: ", ")
        #expect(ChallengeAuthentication.Challenge.all(in: many).first?.parameters.count == 32)
        for piece in ["a ", "a=\"", "\\\"", ",", "=", "a,", "Basic "] {
            let value = String(repeating: piece, count: 100_000)
            #expect(ChallengeAuthentication.Challenge.all(in: value).count <= ChallengeAuthentication.Challenge.limit)
        }
    }

    @Test("the challenges of a 407 are read from Proxy-Authenticate")
    func proxy() {
        var head = HTTPResponse(status: .proxyAuthenticationRequired)
        head.headerFields[.proxyAuthenticate] = "Basic realm=p"
        head.headerFields[.wwwAuthenticate] = "Basic realm=o"
        #expect(ChallengeAuthentication.Challenge.all(in: head).map(\.realm) == ["p"])
    }

    @Test("a Digest challenge that cannot be answered is ignored")
    func digest() {
        func digest(_ text: String) -> DigestChallenge? {
            ChallengeAuthentication.Challenge.all(in: text).first.flatMap(DigestChallenge.init)
        }
        #expect(digest("Digest realm=a") == nil)
        #expect(digest("Digest nonce=n, algorithm=SHA3") == nil)
        #expect(digest("Digest nonce=n, algorithm=MD5-sess") == nil)
        #expect(digest("Basic nonce=n") == nil)
        #expect(digest("Digest nonce=n, algorithm=\"sha-256\", qop=\"auth-int , AUTH\"")?.quality == .auth)
        #expect(digest("Digest nonce=n, stale=TRUE")?.isStale == true)
    }
}
