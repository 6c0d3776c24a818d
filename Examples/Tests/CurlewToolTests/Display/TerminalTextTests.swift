import Testing

@testable import CurlewTool

@Suite("Text on a terminal")
struct TerminalTextTests {
    private func shown(_ chunks: [[UInt8]]) -> String {
        var text = TerminalText()
        var bytes: [UInt8] = []
        for chunk in chunks { bytes += text.text(chunk) }
        return String(decoding: bytes + text.finish(), as: UTF8.self)
    }

    @Test(
        "control characters are shown and not obeyed",
        arguments: [
            ("a\u{1B}[2Jb", "a^[[2Jb"), ("a\u{7}\u{8}\u{7F}", "a^G^H^?"), ("a\tb\nc", "a\tb\nc"), ("a\r\nb", "a\nb"),
            ("secret\rharmless", "secret^Mharmless"), ("a\r", "a^M"), ("a\u{9B}2Jb", "a<U+9B>2Jb"),
            ("a\u{202E}b", "a<U+202E>b"), ("a\u{2028}b", "a<U+2028>b"), ("ä€🐦", "ä€🐦"), ("👩\u{200D}🔬", "👩\u{200D}🔬"),
        ])
    func controls(text: String, expected: String) {
        #expect(shown([Array(text.utf8)]) == expected)
        #expect(shown(text.utf8.map { [$0] }) == expected)
    }

    @Test(
        "invalid UTF-8 is replaced",
        arguments: [
            ([0x61, 0x9B, 0x62], "a\u{FFFD}b"), ([0xC3], "\u{FFFD}"), ([0xE2, 0x82, 0x41], "\u{FFFD}A"),
            ([0xFF], "\u{FFFD}"),
            ([0xC0, 0x9B], "\u{FFFD}\u{FFFD}"), ([0xE0, 0x80, 0x9B], "\u{FFFD}"), ([0xC3, 0x1B], "\u{FFFD}^["),
        ] as [([UInt8], String)])
    func invalid(bytes: [UInt8], expected: String) {
        #expect(shown([bytes]) == expected)
        #expect(shown(bytes.map { [$0] }) == expected)
    }

    private func json(_ text: String, isColored: Bool = false, chunk: Int = 1000) -> String {
        var printer = JSONPrinter(isColored: isColored)
        var bytes: [UInt8] = []
        let all = Array(text.utf8)
        for start in stride(from: 0, to: all.count, by: chunk) {
            bytes += printer.print(Array(all[start..<min(all.count, start + chunk)]))
        }
        return String(decoding: bytes + printer.finish(), as: UTF8.self)
    }

    @Test("JSON is indented, whatever its chunks, and its numbers and escapes stay")
    func indented() {
        let text = #"{"a":[1,2.50e+3,{}],"b" : "x\"\u00e4y","c":[ ],"d":{"e":null,"e":true}}"#
        let expected = """
            {
              "a": [
                1,
                2.50e+3,
                {}
              ],
              "b": "x\\"\\u00e4y",
              "c": [],
              "d": {
                "e": null,
                "e": true
              }
            }

            """
        for chunk in [1, 3, 1000] { #expect(json(text, chunk: chunk) == expected) }
    }

    @Test("names, strings, numbers and words have colours, which end with them")
    func colors() {
        #expect(
            json(#"{"a":"b","c":1,"d":true}"#, isColored: true)
                == "{\n  \u{1B}[34;1m\"a\"\u{1B}[0m: \u{1B}[32m\"b\"\u{1B}[0m,\n  \u{1B}[34;1m\"c\"\u{1B}[0m: \u{1B}[36m1\u{1B}[0m,\n"
                + "  \u{1B}[34;1m\"d\"\u{1B}[0m: \u{1B}[33mtrue\u{1B}[0m\n}\n")
    }

    @Test("several values stand in lines of their own, and control characters in strings are shown")
    func sequence() {
        #expect(json("1\n[2]\n\"a\u{1B}b\"") == "1\n[\n  2\n]\n\"a^[b\"\n")
        #expect(json("") == "" && json("  ") == "")
    }

    @Test(
        "text that is not JSON is shown without an end or a crash",
        arguments: ["}}]", "{\"a", "[1,", "<html>", "\"\\", ":,:"])
    func broken(text: String) {
        #expect(!json(text, isColored: true).isEmpty)
    }

    @Test("a nesting of 20,000 levels is shown in lines of bounded length")
    func deep() {
        let text = String(repeating: "[", count: 20_000)
        let lines = json(text).split(separator: "\n")
        #expect(lines.count == 20_000 && lines.allSatisfy { $0.utf8.count <= 81 })
    }
}
