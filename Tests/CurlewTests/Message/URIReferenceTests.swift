import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("URI references")
struct URIReferenceTests {
    private let base: CurlewURI

    init() throws { base = try CurlewURI("https://a.test/v1/") }

    private func resolved(_ reference: URIReference) throws -> String {
        try reference.resolved(against: base).description
    }

    private func problem(_ reference: URIReference) -> String? {
        do {
            _ = try reference.resolved(against: base)
            return nil
        } catch let error as CurlewError where error.code == .invalidURL {
            return error.message
        } catch {
            return nil
        }
    }

    @Test(
        "a value in a path is one escaped segment, even if it contains slashes or dots",
        arguments: [
            ("7", "7"), ("../admin", "..%2Fadmin"), ("7?x=1", "7%3Fx%3D1"), ("a#b", "a%23b"), ("a b", "a%20b"),
            ("%2e%2e", "%252e%252e"), ("a\\b", "a%5Cb"), ("é", "%C3%A9"), ("\r\nX: y", "%0D%0AX%3A%20y"),
            ("//evil.test", "%2F%2Fevil.test"), ("...", "..."), ("\0", "%00"), ("a;b=c", "a%3Bb%3Dc"),
            ("@evil.test", "%40evil.test"),
        ])
    func segment(_ value: String, _ expected: String) throws {
        #expect(try resolved("users/\(value)/posts") == "https://a.test/v1/users/\(expected)/posts")
        #expect(try resolved("\(value)") == "https://a.test/v1/\(expected)")
        #expect(try resolved("x-\(value)") == "https://a.test/v1/x-\(expected)")
    }

    @Test("numbers, identifiers and enumeration cases are values too")
    func types() throws {
        enum Kind: String { case wader = "a/b" }
        struct ID: CustomStringConvertible { var description: String { "n/1" } }
        #expect(try resolved("\(7)/\(Kind.wader)/\(ID())/\("ab".prefix(1))") == "https://a.test/v1/7/a%2Fb/n%2F1/a")
    }

    @Test("a value in the query is one escaped value, and may be empty or consist of dots")
    func query() throws {
        #expect(
            try resolved("s?q=\("a&b=c#d e+?")&n=\("")&d=\("..")")
                == "https://a.test/v1/s?q=a%26b%3Dc%23d%20e%2B%3F&n=&d=..")
        #expect(try resolved("s#\("a b")") == "https://a.test/v1/s#a%20b")
    }

    @Test("an empty value and a segment of dots are refused, even if composed of several parts")
    func dots() {
        let dot = "."
        #expect(problem("users/\("")") != nil)
        #expect(problem("users/\("..")/x") != nil)
        #expect(problem("users/\(".")") != nil)
        #expect(problem("users/\(dot)\(dot)/x") != nil)
        #expect(problem("users/.\(dot)") != nil)
        #expect(problem("users/%2e\(dot)") != nil)
        #expect(problem("\("..")?a=b") != nil)
        #expect(problem("users/\(dot)\(dot)\(dot)") == nil)
    }

    @Test("a value as scheme or host is refused")
    func host() {
        let host = "evil.test"
        for reference: URIReference in [
            "https://\(host)/x", "//\(host)/x", "https://\(host)", "https://a.test.\(host)/", "\("https")://a.test/",
            "https://a.test\("/x")", "\("https://a.test/x")", "\("https://a.test/x")/y", "https://u\("x")@a.test/",
        ] {
            #expect(problem(reference) != nil, "\(reference)")
        }
        #expect(problem("https://a.test/\(host)") == nil)
    }

    @Test("a collection or a URL as a value is refused")
    func collections() {
        #expect(problem("users/\([1, 2])")?.contains("collection") == true)
        #expect(problem("users/\(base)")?.contains(".uri") == true)
    }

    @Test("raw text and complete references are inserted unchanged")
    func raw() throws {
        #expect(try resolved("users/\(raw: "a/b?c=d")&e=\("f/g")") == "https://a.test/v1/users/a/b?c=d&e=f%2Fg")
        #expect(try resolved(.raw("../x?y")) == "https://a.test/x?y")
        #expect(try resolved(.uri(CurlewURI("http://b.test/"))) == "http://b.test/")
        #expect(try resolved("plain/../text") == "https://a.test/v1/text")
    }

    @Test("a call with a refused reference sends no request")
    func call() async throws {
        let stub = StubTransport { _ in .response(.ok) }
        let api = try HTTPSession(baseURL: "https://a.test/", transport: stub)
        let error = await curlewError { _ = try await api.get("users/\("..")/admin") }
        #expect(error?.code == .invalidURL && stub.received.isEmpty)
    }
}
