import Testing

@testable import CurlewCore

@Suite("Set-Cookie fields, by the topics of the public http-state cases")
struct SetCookieTests {
    typealias Script = CookieScript

    @Test(
        "the first equals sign separates the name and the value",
        arguments: [
            Script("foo=bar", "foo=bar"), Script("foo=", "foo="), Script("foo", "foo"), Script("=bar", "bar"),
            Script("=", nil), Script("", nil), Script(";", nil), Script("; bar", nil), Script("   ", nil),
            Script("=foo=bar", "foo=bar"), Script("foo=bar=baz", "foo=bar=baz"), Script("foo==bar", "foo==bar"),
            Script("  foo = bar  ; a=b", "foo=bar"), Script("\tfoo\t=\tbar\t; a", "foo=bar"),
            Script("foo bar = bar baz", "foo bar=bar baz"), Script("foo\tbar=a\tb", "foo\tbar=a\tb"),
            Script("\"foo\"=\"bar; baz\"", "\"foo\"=\"bar"), Script("foo=\"bar\"", "foo=\"bar\""),
            Script("foo=\"b\\\"ar\"", "foo=\"b\\\"ar\""), Script("foo=bar;baz", "foo=bar"),
            Script("foo\nbar=1", nil), Script("foo=b\u{0}ar", nil), Script("foo=bar\u{7F}", nil),
            Script("foo=bar; a=\u{1}", nil), Script("foo=bar\r\n", nil), Script("a$b*c=d%20e+f", "a$b*c=d%20e+f"),
            Script("$Version=1; $Path=/x", "$Version=1"), Script("foo,bar=1", "foo,bar=1"),
        ])
    func pairs(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "a comma separates no cookies: a field is one cookie",
        arguments: [
            Script("foo=bar, baz=qux", "foo=bar, baz=qux"), Script("foo=\"bar, baz=qux\"", "foo=\"bar, baz=qux\""),
            Script("foo=b,a,r; path=/", "foo=b,a,r"), Script("foo=bar,", "foo=bar,"),
        ])
    func commas(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "attributes are read in any letter case, with or without values, among unknown attributes",
        arguments: [
            Script("foo=bar; Secure", nil), Script("foo=bar; SECURE", nil), Script("foo=bar; secure=x", nil),
            Script("foo=bar; secure =", nil), Script("foo=bar;secure", nil), Script("foo=bar; \t secure \t ", nil),
            Script("foo=bar; \"secure\"", "foo=bar"), Script("foo=bar; secureish", "foo=bar"),
            Script("foo=bar; x=secure", "foo=bar"), Script("foo=bar; ; ;; ", "foo=bar"),
            Script("foo=bar; HttpOnly; Unknown=1; =2; =", "foo=bar"), Script("foo=secure", "foo=secure"),
            Script("foo=bar; path=/; Path=/elsewhere", nil), Script("foo=bar; path=/x; PATH=/", "foo=bar"),
        ])
    func attributes(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "bytes beyond ASCII are preserved",
        arguments: [
            Script("foo=春节回家路·春运完全手册", "foo=春节回家路·春运完全手册"),
            Script("foo=\"Frühstück\"; path=/", "foo=\"Frühstück\""), Script("naïve=1", "naïve=1"),
        ])
    func charset(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test("bytes that are not UTF-8 are preserved")
    func latin1() throws {
        let cookie = try #require(SetCookie([0x61, 0x3D, 0xFC, 0x62, 0xFF]))
        #expect(cookie.name == [0x61])
        #expect(cookie.value == [0xFC, 0x62, 0xFF])
    }

    @Test(
        "the last path applies, and an invalid path is replaced by the URI's",
        arguments: [
            Script("a=b; path=/x", "a=b", from: "http://h.example/x"),
            Script("a=b; path=/x", "a=b", from: "http://h.example/q", to: "http://h.example/x/y"),
            Script("a=b; path=/x/", nil, from: "http://h.example/q", to: "http://h.example/x"),
            Script("a=b; path=/x/", "a=b", from: "http://h.example/q", to: "http://h.example/x/"),
            Script("a=b; path=/x", nil, from: "http://h.example/q", to: "http://h.example/xy"),
            Script("a=b; path=x", "a=b", from: "http://h.example/d/q", to: "http://h.example/d"),
            Script("a=b; path=", nil, from: "http://h.example/d/q", to: "http://h.example/"),
            Script("a=b; path", nil, from: "http://h.example/d/q", to: "http://h.example/e"),
            Script("a=b; path=\"/x\"", "a=b", from: "http://h.example/d/q", to: "http://h.example/d/x"),
            Script("a=b; path=/x; path=", "a=b", from: "http://h.example/d/q", to: "http://h.example/d/e"),
            Script("a=b; path=/%78", nil, from: "http://h.example/q", to: "http://h.example/x"),
            Script("a=b; path=/X", nil, from: "http://h.example/q", to: "http://h.example/x"),
            Script("a=b; path=/x?y", nil, from: "http://h.example/q", to: "http://h.example/x?y"),
            Script("a=b; path=/elsewhere", "a=b", from: "http://h.example/q", to: "http://h.example/elsewhere"),
            Script("a=b", nil, from: "http://h.example/d/e/q", to: "http://h.example/d"),
            Script("a=b", "a=b", from: "http://h.example/d/e/q", to: "http://h.example/d/e"),
            Script("a=b", "a=b", from: "http://h.example/d/e/?q=/z/", to: "http://h.example/d/e/f"),
            Script("a=b", "a=b", from: "http://h.example/d", to: "http://h.example/"),
        ])
    func paths(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "the last domain applies, and must be the host or a domain above it",
        arguments: [
            Script("a=b; domain=.example.org", "a=b"), Script("a=b; domain=example.org", "a=b"),
            Script("a=b; domain=home.example.org", "a=b"), Script("a=b; domain=.HOME.Example.ORG", "a=b"),
            Script("a=b; domain=  home.example.org  ", "a=b"), Script("a=b; domain=", "a=b"),
            Script("a=b; domain", "a=b"), Script("a=b; domain=.", "a=b"),
            Script("a=b; domain=..example.org", nil), Script("a=b; domain=ple.org", nil),
            Script("a=b; domain=.sibling.example.org", nil), Script("a=b; domain=x.home.example.org", nil),
            Script("a=b; domain=home.example.org.", nil), Script("a=b; domain=\"home.example.org\"", nil),
            Script("a=b; domain=home.example.org:8888", nil), Script("a=b; domain=127.0.0.1", nil),
            Script("a=b; domain=.org", nil), Script("a=b; domain=org", nil),
            Script("a=b; domain=sibling.example.org; domain=example.org", "a=b"),
            Script("a=b; domain=example.org; domain=sibling.example.org", nil),
            Script("a=b; domain=sibling.example.org; domain=", "a=b"),
            Script("a=b; domain=exämple.org", nil), Script("a=b; domain=example.org/x", nil),
            Script("a=b; domain=example.org", "a=b", from: nil, to: "http://example.org/"),
            Script("a=b; domain=example.org", "a=b", from: nil, to: "http://x.y.example.org/"),
            Script("a=b; domain=", nil, from: nil, to: "http://x.home.example.org/"),
            Script("a=b", nil, from: nil, to: "http://example.org/"),
            Script("a=b", "a=b", from: nil, to: "https://HOME.example.org:1/"),
        ])
    func domains(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test("cookies with longer paths are sent first, then older ones, and an update keeps the cookie's place")
    func ordering() throws {
        let jar = CookieJar()
        let uri = try CurlewURI("http://h.example/d/e/f")
        for field in ["z=1; path=/", "y=2; path=/d", "x=3; path=/d/e", "w=4; path=/d", "v=5; path=/"] {
            #expect(jar.store(field, from: uri))
        }
        #expect(try jar.field(for: "http://h.example/d/e/f") == "x=3; y=2; w=4; z=1; v=5")
        jar.store("z=6; path=/", from: uri)
        #expect(try jar.field(for: "http://h.example/d/e/f") == "x=3; y=2; w=4; z=6; v=5")
        jar.store("z=; path=/; max-age=0", from: uri)
        jar.store("z=7; path=/", from: uri)
        #expect(try jar.field(for: "http://h.example/") == "v=5; z=7")
        // The same name with another path, or with a domain, is another cookie.
        jar.store("z=8; path=/d", from: uri)
        jar.store("z=9; path=/; domain=h.example", from: try CurlewURI("http://a.h.example/"))
        #expect(try jar.field(for: "http://h.example/d") == "y=2; w=4; z=8; v=5; z=7; z=9")
    }

    @Test(
        "several Set-Cookie fields are applied in order",
        arguments: [
            Script(["foo=bar", "foo=qux"], "foo=qux"), Script(["a=b", "=", "c=d"], "a=b; c=d"),
            Script(["a=b", "=x", "c=d"], "a=b; x; c=d"),
            Script(["six", "seven", " =eight", "test=six"], "eight; test=six"),
            Script(["foo=bar; max-age=60", "foo1=bar; max-age=60", "foo=other; max-age=0"], "foo1=bar"),
            Script(["z=y; foo=bar, a=b", "foo=b;max-age=3600, c=d;path=/"], "z=y; foo=b"),
            Script(
                ["test=\"fubar! = foo;bar\\\";\" parser; max-age=6", "five; max-age=2.63,"], "test=\"fubar! = foo; five"
            ),
            Script(
                [
                    "key=val0;", "key=val1; path=/cookie-parser-result", "key=val2; path=/", "key=val3; path=/bar",
                    "key=val4; domain=.example.org", "key=val5; domain=.example.org; path=/cookie-parser-result/foo",
                ], "key=val5; key=val1; key=val2; key=val4",
                from: "http://home.example.org:8888/cookie-parser",
                to: "http://home.example.org:8888/cookie-parser-result/foo/baz"),
            Script(
                ["foo=bar; path=/x", "foo=qux; path=/x/"], "foo=qux; foo=bar", from: "http://h.example/q",
                to: "http://h.example/x/dog"),
        ])
    func sequences(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test("a cookie beyond 4,096 bytes of name and value is refused, and an attribute beyond 1,024 is ignored")
    func sizes() throws {
        let jar = CookieJar()
        let uri = try CurlewURI("http://h.example/d/e")
        #expect(jar.store("ab=" + String(repeating: "c", count: 4094), from: uri))
        #expect(!jar.store("ab=" + String(repeating: "c", count: 4095), from: uri))
        #expect(jar.store(String(repeating: "n", count: 4096), from: uri))
        #expect(!jar.store(String(repeating: "n", count: 1 << 20) + "=v", from: uri))
        #expect(!jar.store("n=" + String(repeating: "v", count: 1 << 20), from: uri))
        #expect(jar.cookies.count == 2)
        jar.removeAll()
        let long = "/" + String(repeating: "p", count: 1023)
        jar.store("a=1; path=\(long)", from: uri)
        #expect(try jar.field(for: "http://h.example\(long)") == "a=1")
        jar.store("b=1; path=\(long)p", from: uri)
        #expect(jar.cookies.last?.path == "/d")
        // An overlong path of a URI is not stored.
        #expect(!jar.store("c=1", from: try CurlewURI("http://h.example\(long)p/q")))
        #expect(jar.store("d=1" + String(repeating: ";", count: 1 << 20), from: uri))
        #expect(jar.store("e=1; x=" + String(repeating: "x", count: 1 << 20) + "; path=/", from: uri))
    }
}
