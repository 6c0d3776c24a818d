import HTTPTypes
import SeededNumbers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Media types")
struct MediaTypeTests {
    @Test("type, subtype and parameters are parsed, quoted ones included")
    func reading() throws {
        let type = try #require(
            ContentType("  Application/Problem+JSON ;Charset=\"utf\\-8\" ; ; profile=a/b;q=0.5;charset=second "))
        #expect(type.essence == "application/problem+json")
        #expect(type.suffix == "json")
        #expect(type["CHARSET"] == "utf-8")
        #expect(type["profile"] == "a/b")
        #expect(type.parameters.map(\.name) == ["charset", "profile", "q"])
        #expect(type["missing"] == nil)
    }

    @Test(
        "an invalid text is not a media type",
        arguments: [
            "", "text", "text/", "/plain", "text plain", "text /plain", "te xt/plain", "text/plain extra", ";", "/",
        ])
    func junk(_ text: String) { #expect(ContentType(text) == nil) }

    @Test(
        "an invalid parameter is skipped, and the type is kept",
        arguments: [
            ("text/html;charset", nil), ("text/html;charset=", nil), ("text/html;=utf-8", nil),
            ("text/html;charset =utf-8", nil), ("text/html;charset=\"utf-8", "utf-8"), ("text/html;;;charset=a", "a"),
            ("text/html;charset=\"\"", ""), ("text/html;charset=\u{1}", nil), ("text/html;x=\"a;charset=b\"", nil),
            ("text/html;charset=utf-8;", "utf-8"),
        ] as [(String, String?)])
    func brokenParameter(_ text: String, charset: String?) throws {
        let type = try #require(ContentType(text))
        #expect(type.essence == "text/html")
        #expect(type["charset"] == charset)
    }

    @Test("a media type can be parsed again from its text, with any parameters")
    func writing() {
        for value in ["plain", "", "two words", "a\"b\\c", "a;b,c"] {
            let type = ContentType("text", "plain", parameters: [.init("X", value)])
            #expect(ContentType(type.description) == type)
        }
        #expect(ContentType("TEXT/PLAIN;a=b")?.description == "text/plain; a=b")
    }

    @Test("a parser of media types accepts any bytes without a trap")
    func anyBytes() {
        var generator = SeededNumbers(seed: 1)
        let alphabet = Array("ab/;=\"\\ ,+*\t\u{0}\u{7F}é".utf8)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            if let type = MediaTypeParser.mediaType(in: bytes) { #expect(ContentType(type.description) == type) }
            #expect(MediaTypeParser.parts(of: bytes).map(\.count).reduce(0, +) <= bytes.count)
        }
    }

    @Test("no more than 32 parameters are kept")
    func parameters() {
        let text = "a/b" + (0..<1000).map { ";p\($0)=1" }.joined()
        #expect(ContentType(text)?.parameters.count == ContentType.parameterLimit)
    }

    @Test("the last valid Content-Type applies")
    func several() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .contentType, value: "text/html"))
        fields.append(HTTPField(name: .contentType, value: "application/json;a=\"x,y\", nonsense"))
        #expect(ContentType(contentTypeOf: fields)?.essence == "application/json")
        #expect(ContentType(contentTypeOf: [.contentType: "*/*"]) == nil)
        #expect(ContentType(contentTypeOf: [:]) == nil)
    }

    /// The results are those of the Fetch standard, "extract a MIME type".
    @Test(
        "a type without charset has the charset of the first of the consecutive values with the same essence",
        arguments: [
            (["text/plain;charset=gbk", "text/plain"], "text/plain; charset=gbk"),
            (["text/plain;charset=gbk;x=foo", "text/plain;y=z"], "text/plain; y=z; charset=gbk"),
            (["text/plain;charset=gbk", "text/plain;charset=utf-8"], "text/plain; charset=utf-8"),
            (["text/plain;charset=gbk", "text/plain;charset=utf-8", "text/plain"], "text/plain; charset=gbk"),
            (["text/html;charset=gbk", "text/plain", "text/html"], "text/html"),
            (["text/plain", "text/plain;charset=gbk", "text/plain"], "text/plain"),
            (["text/html;charset=gbk", "nonsense", "*/*", "text/html"], "text/html; charset=gbk"),
        ])
    func charset(values: [String], expected: String) {
        for values in [values, [values.joined(separator: ",")]] {
            let fields = HTTPFields(values.map { HTTPField(name: .contentType, value: $0) })
            #expect(ContentType(contentTypeOf: fields)?.description == expected, "\(values)")
        }
    }

    @Test(
        "a quoted string can extend over several fields",
        arguments: [
            (["text/html;x=\"", "text/plain"], "text/html; x=\", text/plain\""),
            (["text/html;\"", "text/plain"], "text/html"), (["text/html;\"", "\"", "text/plain"], "text/plain"),
        ])
    func quotedFields(values: [String], expected: String) {
        let fields = HTTPFields(values.map { HTTPField(name: .contentType, value: $0) })
        #expect(ContentType(contentTypeOf: fields)?.description == expected)
    }

    @Test(
        "a parameter whose name is not a token is skipped with its value",
        arguments: [
            "text/html;in]valid=\";asd=foo\";foo=bar", "text/html;=\";x=y\";foo=bar", "text/html;a b=c;foo=bar",
            "text/html;\"a;b\"=\";c=d\";foo=bar",
        ])
    func invalidNames(text: String) {
        #expect(ContentType(text)?["foo"] == "bar")
        #expect(ContentType(text)?.parameters.count == 1)
    }

    @Test("white space around a value is ignored, line breaks included")
    func space() {
        #expect(ContentType("\n\r\t x/x;\n\r\t x=x\n\r\t ;y=z\n")?.description == "x/x; x=x; y=z")
    }

    @Test(
        "a media range matches types, structured suffixes and parameters",
        arguments: [
            ("application/json", "application/json", true), ("application/json", "*/*", true),
            ("image/png", "image/*", true), ("image/png", "text/*", false), ("a/b", "*/b", false),
            ("application/problem+json", "application/json", true),
            ("application/json", "application/problem+json", false),
            ("image/svg+xml", "application/xml", true), ("application/x+json", "application/vnd.x+json", false),
            ("text/html; charset=UTF-8", "text/html;charset=utf-8", true),
            ("text/html", "text/html;charset=utf-8", false),
            ("text/html", "text/html;q=0.1", true), ("text/jsonp", "text/json", false),
            ("a/json+", "application/json", false),
        ])
    func matching(_ type: String, _ range: String, isMatch: Bool) throws {
        #expect(try #require(ContentType(type)).matches(#require(ContentType(range))) == isMatch)
    }
}
