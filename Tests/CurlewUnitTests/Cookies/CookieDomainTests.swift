import Testing

@testable import CurlewCore

@Suite("The domains of cookies")
struct CookieDomainTests {
    typealias Script = CookieScript

    @Test(
        "a public suffix receives no cookie from hosts below it, and its own cookie is host-only",
        arguments: [
            Script("a=b; domain=com", nil, from: "http://example.com/"),
            Script("a=b; domain=co.uk", nil, from: "http://shop.co.uk/"),
            Script("a=b; domain=shop.co.uk", "a=b", from: "http://www.shop.co.uk/", to: "http://shop.co.uk/"),
            Script("a=b; domain=github.io", nil, from: "http://me.github.io/"),
            // A dot at the end does not change the name.
            Script("a=b; domain=co.uk.", nil, from: "http://shop.co.uk./", to: "http://other.co.uk./"),
            Script("a=b; domain=github.io..", nil, from: "http://me.github.io../"),
            Script("a=b; domain=..", nil, from: "http://x../", to: "http://y../"),
            Script("a=b; domain=shop.co.uk.", "a=b", from: "http://www.shop.co.uk./", to: "http://shop.co.uk./"),
            Script("a=b; domain=github.io", "a=b", from: "http://github.io/"),
            Script("a=b; domain=github.io", nil, from: "http://github.io/", to: "http://me.github.io/"),
            Script("a=b; domain=GitHub.IO", nil, from: "http://github.io/", to: "http://me.github.io/"),
            // The list has a wildcard, with an exception.
            Script("a=b; domain=foo.ck", nil, from: "http://x.foo.ck/"),
            Script("a=b; domain=www.ck", "a=b", from: "http://x.www.ck/", to: "http://www.ck/"),
            // The list has no rule here, so a single label is a public suffix.
            Script("a=b; domain=corp", nil, from: "http://app.corp/"),
            Script("a=b; domain=app.corp", "a=b", from: "http://x.app.corp/", to: "http://app.corp/"),
            Script("a=b; domain=localhost", "a=b", from: "http://localhost:8080/"),
            Script("a=b; domain=localhost", nil, from: "http://localhost/", to: "http://x.localhost/"),
        ])
    func publicSuffixes(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "a cookie of an IP address is sent only to this address, in any notation",
        arguments: [
            Script("a=b; domain=127.0.0.1", "a=b", from: "http://127.0.0.1:1/", to: "http://127.0.0.1:2/"),
            Script("a=b; domain=0.0.1", nil, from: "http://127.0.0.1/"),
            Script("a=b; domain=.1", nil, from: "http://127.0.0.1/"),
            Script("a=b; domain=0.1", nil, from: "http://0x7f.0.0.1/"),
            Script("a=b; domain=0.0x1", nil, from: "http://127.0.0x1/"),
            Script("a=b; domain=127.0.0.1", nil, from: "http://127.0.0.1/", to: "http://x.127.0.0.1/"),
            Script("a=b; domain=[::1]", "a=b", from: "http://[::1]:8080/", to: "http://[::1]/"),
            Script("a=b", "a=b", from: "http://[::ABCD]/", to: "http://[::abcd]/"),
            Script("a=b; domain=1]", nil, from: "http://[::1]/"),
            Script("a=b", nil, from: "http://127.0.0.1/", to: "http://127.0.0.2/"),
        ])
    func addresses(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test(
        "internationalized names are compared in their ASCII form",
        arguments: [
            Script("a=b", "a=b", from: "http://bücher.example/", to: "http://xn--bcher-kva.example/"),
            Script("a=b", "a=b", from: "http://BÜCHER.Example/", to: "http://bücher.example/"),
            Script("a=b; domain=xn--bcher-kva.example", "a=b", from: "http://www.bücher.example/"),
            Script("a=b; domain=XN--BCHER-KVA.example", "a=b", from: "http://xn--bcher-kva.example/"),
            Script("a=b; domain=bücher.example", nil, from: "http://bücher.example/"),
            Script("a=b", "a=b", from: "http://例え。テスト/", to: "http://xn--r8jz45g.xn--zckzah/"),
            Script("a=b", nil, from: "http://straße.example/", to: "http://strasse.example/"),
            Script("a=b; domain=xn--p1ai", nil, from: "http://пример.рф/"),
        ])
    func internationalized(_ script: Script) throws {
        #expect(try script.sent() == script.expected)
    }

    @Test("a name without an ASCII form can have no cookies")
    func noForm() {
        #expect(CookieHost("a\u{2100}b.example") == nil)
        #expect(CookieHost("bücher.example")?.name == "xn--bcher-kva.example")
    }
}
