import Foundation
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("The choice of a proxy")
struct ProxyConfigurationTests {
    private func chosen(_ configuration: Proxy.Configuration, _ url: String) throws -> String? {
        try configuration.proxy(for: CurlewURI(url))?.description
    }

    @Test("environment variables are read as in curl")
    func environment() throws {
        let separate = Proxy.Configuration.environment([
            "http_proxy": "http://a:1", "https_proxy": "http://b:2", "all_proxy": "http://c:3",
        ])
        #expect(try chosen(separate, "http://x.test/") == "http://a:1")
        #expect(try chosen(separate, "https://x.test/") == "http://b:2")
        let all = Proxy.Configuration.environment(["ALL_PROXY": "socks5h://c:3", "http_proxy": ""])
        #expect(try chosen(all, "http://x.test/") == "socks5h://c:3")
        #expect(try chosen(all, "https://x.test/") == "socks5h://c:3")
        let upper = Proxy.Configuration.environment(["HTTP_PROXY": "http://evil:1", "HTTPS_PROXY": "http://b:2"])
        #expect(try chosen(upper, "http://x.test/") == nil)
        #expect(try chosen(upper, "https://x.test/") == "http://b:2")
        let both = Proxy.Configuration.environment(["https_proxy": "http://lower:1", "HTTPS_PROXY": "http://upper:1"])
        #expect(try chosen(both, "https://x.test/") == "http://lower:1")
        #expect(try chosen(.environment([:]), "http://x.test/") == nil)
    }

    @Test("a proxy survives encoding and decoding")
    func coding() throws {
        var proxies = [try Proxy("socks5h://user:pa%3Ass@[::1]:1080"), try Proxy("https://proxy.example.com")]
        proxies.append(try proxies[1].authenticated(user: "user", password: "", by: .digest))
        proxies[1].anchorsPEM = "anchors"
        for proxy in proxies {
            #expect(try JSONDecoder().decode(Proxy.self, from: JSONEncoder().encode(proxy)) == proxy)
        }
    }

    @Test(
        "an invalid proxy is refused by the decoder too",
        arguments: [
            #""host": "user@proxy.test""#, #""host": "a b""#, #""host": "a\r\nX: y""#, #""host": "a/b""#,
            #""host": """#,
            #""host": "a:1""#, #""host": "a?b""#, #""port": 65536"#, #""port": -1"#,
            #""user": "a\r\nX: y", "password": "b""#, #""user": "a", "password": "b\u0000""#,
            #""user": "a:b", "password": "c""#, #""scheme": "socks5", "user": "a", "authentication": "digest""#,
        ])
    func brokenCoding(_ member: String) throws {
        let rest = [#""scheme": "http""#, #""host": "proxy.test""#, #""port": 3128"#, #""authentication": "basic""#]
            .filter { !member.contains($0.prefix { $0 != ":" }) }
        let text = "{\((rest + [member]).joined(separator: ", "))}"
        #expect(throws: CurlewError.self) { try JSONDecoder().decode(Proxy.self, from: Data(text.utf8)) }
    }

    @Test("an invalid variable is an error of the requests that need it, without its secrets")
    func brokenVariable() throws {
        let broken = Proxy.Configuration.environment(["https_proxy": "ftp://user:hidden@b:2"])
        #expect(try chosen(broken, "http://x.test/") == nil)
        let error = #expect(throws: CurlewError.self) { try chosen(broken, "https://x.test/") }
        #expect(error?.code == .unsupportedScheme)
        #expect(error?.message.contains("https_proxy") == true)
        #expect(error?.description.contains("hidden") == false)
    }

    @Test(
        "no_proxy names hosts, domains, addresses and ports",
        arguments: [
            ("example.com", "http://example.com/", true), ("example.com", "http://www.example.com/", true),
            ("example.com", "http://notexample.com/", false), (".example.com", "http://a.example.com/", true),
            (".example.com", "http://example.com/", true), ("*.example.com", "http://a.example.com/", true),
            ("EXAMPLE.com.", "http://Example.COM./", true), ("a.test,b.test c.test", "http://c.test/", true),
            ("*", "http://anything.test/", true), ("a.test, *", "http://b.test/", true),
            ("10.0.0.0/8", "http://10.1.2.3/", true), ("10.0.0.1/8", "http://10.9.9.9/", true),
            ("10.0.0.0/8", "http://11.1.2.3/", false), ("127.0.0.1", "http://127.0.0.1/", true),
            ("127.0.0.0/8", "http://0x7f.1/", true), ("127.0.0.0/8", "http://2130706433/", true),
            ("10.0.0.0/8", "http://10.example.com/", false), ("::1", "http://[::1]/", true),
            ("[::1]:81", "http://[::1]:81/", true), ("[::1]:81", "http://[::1]/", false),
            ("fe80::/10", "http://[fe80::1]/", true), ("127.0.0.0/8", "http://[::ffff:127.0.0.1]/", true),
            ("example.com:8080", "http://example.com:8080/", true), ("example.com:8080", "http://example.com/", false),
            ("example.com:80", "http://example.com/", true), ("example.com:443", "https://a.example.com/", true),
            ("0.0.1", "http://127.0.0.1/", false), ("", "http://example.com/", false),
            (",, ,", "http://a.test/", false),
            ("a.test,\u{301}", "http://a.test/", true), ("a.test \u{301}", "http://a.test/", true),
            ("a:b:c", "http://a.test/", false), ("/8", "http://8/", false), ("[::1", "http://[::1]/", false),
        ])
    func exceptions(_ list: String, _ url: String, _ isDirect: Bool) throws {
        let environment = Proxy.Configuration.environment(["all_proxy": "http://p:1", "NO_PROXY": list])
        #expect(try chosen(environment, url) == (isDirect ? nil : "http://p:1"))
        let fixed = Proxy.Configuration.proxy(try Proxy("http://p:1"), except: list)
        #expect(try chosen(fixed, url) == (isDirect ? nil : "http://p:1"))
    }

    #if InternationalNames
    @Test(
        "an international name in no_proxy matches both forms of the name",
        arguments: [
            ("bücher.de", "http://bücher.de/", true), ("bücher.de", "http://xn--bcher-kva.de/", true),
            ("bu\u{308}cher.de", "http://www.bücher.de/", true), (".BÜCHER.de:80", "http://xn--bcher-kva.de/", true),
            ("*.bücher.de.", "http://a.bücher.de./", true), ("xn--bcher-kva.de", "http://bücher.de/", true),
            ("bücher.de", "http://bucher.de/", false), ("\u{301}.de", "http://a.de/", false),
            ("\u{301}de", "http://a.de/", false),
        ])
    func internationalExceptions(_ list: String, _ url: String, _ isDirect: Bool) throws {
        try exceptions(list, url, isDirect)
    }
    #endif

    @Test("the first rule that matches a URI chooses its proxy")
    func rules() throws {
        let rules = Proxy.Configuration.rules([
            Proxy.Rule("intern.test", proxy: nil),
            Proxy.Rule("b.test:8443, 10.0.0.0/8", proxy: try Proxy("socks5h://b:1")),
            Proxy.Rule("test", proxy: try Proxy("http://a:1")),
        ])
        #expect(try chosen(rules, "http://x.intern.test/") == nil)
        #expect(try chosen(rules, "https://b.test:8443/") == "socks5h://b:1")
        #expect(try chosen(rules, "http://10.0.0.1/") == "socks5h://b:1")
        #expect(try chosen(rules, "https://b.test/") == "http://a:1")
        #expect(try chosen(rules, "https://example.com/") == nil)
    }

    @Test("a proxy is created from a URL")
    func urls() throws {
        let proxy = try Proxy("http://us%65r:p%40%3A%2f@proxy.test:3128/")
        #expect(proxy.description == "http://proxy.test:3128")
        #expect(proxy.user == "user")
        #expect(proxy.password == "p@:/")
        #expect(try Proxy("proxy.test").description == "http://proxy.test:1080")
        #expect(try Proxy("proxy.test:8080").description == "http://proxy.test:8080")
        #expect(try Proxy("HTTPS://proxy.test").description == "https://proxy.test:443")
        #expect(try Proxy("socks5h://[::1]:1080").description == "socks5h://[::1]:1080")
        #expect(try Proxy("socks4a://user@proxy.test").user == "user")
        #expect(try Proxy("socks5://a%3Ab:c@proxy.test").user == "a:b")
    }

    @Test(
        "a text that is not a proxy URL is refused, and the error does not quote its secrets",
        arguments: [
            "", "http://", "ftp://user:hidden@p", "socks://p:1", "http://user:hidden@", "http://user:hidden@p:99999",
            "http://user:hidden@p:1/path", "http://p:1?q", "http://user:hidden@p q:1", "http://user:hid%2den%0d@p:1",
            "http://user:hidden%zz@p:1", "http://user:hidden%ff@p:1", "http://us%3Aer:hidden@p:1", "://p:1",
        ])
    func wrong(_ url: String) throws {
        let error = #expect(throws: CurlewError.self) { try Proxy(url) }
        #expect(error?.description.contains("hid") == false)
    }

    @Test("credentials that a proxy cannot use are refused")
    func credentials() throws {
        let http = try Proxy("http://p:1")
        let socks = try Proxy("socks5h://p:1")
        #expect(throws: CurlewError.self) { try http.authenticated(user: "a:b", password: "c") }
        #expect(throws: CurlewError.self) { try http.authenticated(user: "a", password: "c\0d") }
        #expect(throws: CurlewError.self) { try socks.authenticated(user: "a", password: "b", by: .digest) }
        #expect(throws: CurlewError.self) {
            try socks.authenticated(user: String(repeating: "a", count: 256), password: "")
        }
        #expect(try socks.authenticated(user: "a:b", password: "").user == "a:b")
    }

    @Test("credentials are encoded, but not part of descriptions")
    func described() throws {
        let proxy = try Proxy("http://user:hidden@p:1")
        var configuration = SessionConfiguration()
        configuration.proxy = .rules([Proxy.Rule("*", proxy: proxy)])
        #expect(try decoded(configuration) == configuration)
        for other in [Proxy.Configuration.proxy(proxy), .environment(["http_proxy": "http://user:hidden@p:1"])] {
            configuration.proxy = other
            var dumped = ""
            dump(configuration, to: &dumped)
            let texts = ["\(proxy)", String(reflecting: proxy), "\(other)", "\(configuration)", dumped]
            for text in texts { #expect(!text.contains("hidden")) }
        }
    }
}
