import Curlew
import HTTPTypes
import Testing

@Suite("URIs")
struct URITests {
    @Test(
        "a user name with a colon is refused, because it would be parsed as another user",
        arguments: ["us%3Aer:pw", "us%3aer", "%3A", "a%3A:b:c"])
    func colonInUser(_ information: String) {
        let error = #expect(throws: CurlewError.self) { _ = try CurlewURI("http://\(information)@a.test/") }
        #expect(error?.code == .invalidURL && error?.message.contains("us%3") == false)
    }

    @Test("a password may contain a colon, encoded or not", arguments: ["user:p%3Aw", "user:p:w"])
    func colonInPassword(_ information: String) throws {
        let request = try CurlewRequest(.get, "http://\(information)@a.test/")
        #expect(request.curlCommand(maskingSecrets: false).contains("--user user:p:w "))
    }

    @Test(
        "relative references are resolved as in the list of RFC 3986 §5.4",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"), ("https://x/", "https://x/"), ("http:", nil), ("mailto:x", nil),
        ] as [(String, String?)])
    func resolution(_ reference: String, _ expected: String?) throws {
        let base = try CurlewURI("http://a/b/c/d;p?q")
        #expect((try? base.resolving(reference).description) == expected)
    }

    @Test(
        "references are resolved against a base URL as in AFNetworking",
        arguments: [
            ("foo", "http://example.com/v1/foo"), ("foo?bar=baz", "http://example.com/v1/foo?bar=baz"),
            ("/foo", "http://example.com/foo"), ("http://example2.com/", "http://example2.com/"),
            ("", "http://example.com/v1/"), ("foo/", "http://example.com/v1/foo/"),
        ])
    func base(_ reference: String, _ expected: String) throws {
        for base in ["http://example.com/v1/", "http://example.com/v1"] {
            let session = try HTTPSession(baseURL: base, chain: .bare)
            #expect(try session.resolve(.raw(reference)).description == expected)
        }
    }

    @Test("the components of a URI can be read")
    func parts() throws {
        let uri = try CurlewURI("HTTPS://user:pw@Example.com:8443/a/b?c=d#e")
        #expect(uri.scheme == "https")
        #expect(uri.host == "Example.com")
        #expect(uri.port == 8443)
        #expect(uri.authority == "Example.com:8443")
        #expect(uri.path == "/a/b")
        #expect(uri.query == "c=d")
        #expect(uri.fragment == "e")
        #expect(uri.origin == "https://example.com:8443")
        #expect(uri.description == "https://Example.com:8443/a/b?c=d#e")
        let bare = try CurlewURI("http://[::1]?q")
        #expect(
            bare.host == "[::1]" && bare.port == 80 && bare.path == "/" && bare.query == "q" && bare.fragment == nil)
        #expect(try CurlewURI("http://h/?").query == "")
    }

    @Test(
        "an internationalized name becomes its ASCII form, in any locale",
        arguments: [
            ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
            ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
            ("straße.example", "xn--strae-oqa.example"), ("１２７.0.0.1", "127.0.0.1"),
            ("他们为什么不说中文.example", "xn--ihqwcrb4cv8a8dqg056pqjye.example"),
        ])
    func international(_ host: String, _ expected: String) throws {
        let uri = try CurlewURI("http://user@\(host):81/ü")
        #expect(uri.host == expected)
        #expect(uri.description == "http://\(expected):81/%C3%BC")
    }

    @Test(
        "an error about a URL shows neither password nor query, even with combining marks at their delimiters",
        arguments: [
            "http://user:secret@\u{301}host:x/", "http://user:secret@\u{301}:x/?q@", "http://host:x/?\u{301}secret",
            "http://host:x/#\u{301}secret", "https//user:\(String(repeating: "secret", count: 20))@host/path?x=1",
            "http://user:se?\u{301}cret@host:x/", "http://user:secret@host:x/",
        ])
    func secretsOfBrokenURLs(_ url: String) throws {
        let error = #expect(throws: CurlewError.self) { try CurlewURI(url) }
        let text = "\(try #require(error))"
        #expect(!text.contains("secret") && !text.contains("user"), "\(text)")
    }

    @Test(
        "a host without an ASCII form, or with delimiters in it, is refused",
        arguments: [
            "a\u{2100}b.example", "ex\u{2028}ample", "\u{200D}.example", "example\u{FF0F}evil", "example\u{FF1A}80",
            "a\u{FF20}b.example", "-ü.example", String(repeating: "ü", count: 64) + ".example",
            "xn--ü.example", "ü\0.example", "\u{E000}.example",
        ])
    func noName(_ host: String) {
        #expect(throws: CurlewError.self) { try CurlewURI("http://\(host)/") }
    }

    @Test(
        "a host in brackets contains no further brackets",
        arguments: ["[[::1]", "[::[1]", "[[]]", "[[[]", "[]", "[:]", "[::1]]", "[::1", "[::1]x", "[::g]"])
    func brackets(_ host: String) {
        #expect(throws: CurlewError.self) { try CurlewURI("http://\(host)/") }
        #expect(throws: CurlewError.self) { try CurlewURI("http://user@\(host):80/") }
    }
}
