import Testing

@testable import Probe

@Suite("A strict JSON reader and a lossless writer")
struct JSONTests {
    private func written(_ value: JSONValue) -> String {
        var text: [UInt8] = []
        value.append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    @Test(
        "numbers, literals, nesting and the order of members are preserved",
        arguments: [
            "0", "-0", "1", "1.50", "1e3", "1E+3", "-2.5e-10", "123456789012345678901234567890", "true", "false",
            "null",
            "[]", "{}", "[1,[2,[3]],{}]", #"{"b":1,"a":{"c":null}}"#, #""""#, #""a\"b\\c\nd""#, #""é 😀""#,
        ])
    func roundTrip(_ text: String) throws {
        #expect(written(try JSONReader.read(Array(text.utf8))) == text)
    }

    @Test(
        "escapes are decoded by RFC 8259",
        arguments: [
            (#""\u0041\/\b\f\n\r\t""#, "A/\u{8}\u{C}\n\r\t"), (#""\u00e9\uD83D\uDE00""#, "é😀"),
            (#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"),
            (#""\uFFFD\ue000\ud7ff""#, "\u{FFFD}\u{E000}\u{D7FF}"),
        ])
    func escapes(_ text: String, _ expected: String) throws {
        #expect(try JSONReader.read(Array(text.utf8)) == .string(expected))
    }

    @Test("control characters are written as escapes, so that an answer is a single line")
    func controls() {
        let text = written(.byteString(0...0x1F))
        #expect(text.hasPrefix(#""\u0000\u0001"#) && text.hasSuffix(#"\u001f""#))
        #expect(!text.utf8.contains { $0 < 0x20 })
    }

    @Test("a byte string has one code point per byte")
    func byteString() throws {
        let bytes = [UInt8](0...255)
        let value = JSONValue.byteString(bytes)
        #expect(value == .string(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))))
        #expect(try JSONReader.read(Array(written(value).utf8)) == value)
    }

    @Test("a duration is written in seconds with six decimals")
    func seconds() {
        #expect(JSONValue.seconds(.microseconds(123)) == .number("0.000123"))
        #expect(JSONValue.seconds(.milliseconds(2500)) == .number("2.500000"))
    }

    @Test(
        "a text that is not JSON is refused",
        arguments: [
            "", " ", "{", "[1", "[1,]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "{'a':1}", "01", "1.",
            ".5",
            "+1", "1e", "-", "nul", "True", "NaN", #"""#, #""\x""#, #""\u12g4""#, #""\u+123""#, "\"\t\"", "1 2",
            "[1 2]",
            "\u{FEFF}1", "// a\n1",
        ])
    func refused(_ text: String) {
        #expect(throws: JSONReader.Problem.self) { try JSONReader.read(Array(text.utf8)) }
    }

    @Test(
        "half of a surrogate pair is refused",
        arguments: [
            #""\ud800""#, #""\ud800x""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800\n""#, #""\ud800\ud800""#,
            #""\udc00\ud800""#, #""\ud83d\ude0""#, #"{"a\udbff":1}"#,
        ])
    func halfPairs(_ text: String) {
        #expect(throws: JSONReader.Problem.self) { try JSONReader.read(Array(text.utf8)) }
    }

    @Test("text that is not UTF-8 is refused")
    func encoding() {
        #expect(throws: JSONReader.Problem.self) { try JSONReader.read([0x22, 0xFF, 0x22]) }
        #expect(throws: JSONReader.Problem.self) { try JSONReader.read([0x22, 0xC0, 0x80, 0x22]) }
    }

    @Test("the nesting depth is limited")
    func depth() throws {
        let limit = JSONReader.depthLimit
        let deepest = [UInt8](repeating: 0x5B, count: limit) + [UInt8](repeating: 0x5D, count: limit)
        _ = try JSONReader.read(deepest)
        for text in [[0x5B] + deepest + [0x5D], [UInt8](repeating: 0x5B, count: 1 << 20)] {
            #expect(throws: JSONReader.Problem.self) { try JSONReader.read(text) }
        }
    }
}
