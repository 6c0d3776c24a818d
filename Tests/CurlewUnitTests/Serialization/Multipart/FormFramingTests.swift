import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("The bytes of a form")
struct FormFramingTests {
    @Test("a boundary is Boundary+ and two zero-padded 32-bit numbers in hexadecimal")
    func boundary() throws {
        struct Fixed: RandomNumberGenerator {
            var numbers: [UInt64]
            mutating func next() -> UInt64 { numbers.removeFirst() }
        }
        var generator = Fixed(numbers: [0xAB, 0xDEAD_BEEF])
        #expect(MultipartBoundary.random(using: &generator).text == "Boundary+000000ABDEADBEEF")
        let boundaries = Set((0..<100).map { _ in MultipartFormData().boundary })
        #expect(boundaries.count == 100)
        for boundary in boundaries {
            #expect(boundary.wholeMatch(of: /Boundary\+[0-9A-F]{16}/) != nil)
            #expect(boundary.utf8.count == 25)
        }
        #expect(try MultipartFormData(boundary: "Boundary+0").contentType == "multipart/form-data; boundary=Boundary+0")
    }

    @Test("a custom boundary is quoted if necessary, and refused if invalid")
    func ownBoundary() throws {
        #expect(try MultipartFormData(boundary: "a b:c").contentType == "multipart/form-data; boundary=\"a b:c\"")
        #expect(try MultipartFormData(boundary: String(repeating: "b", count: 70)).boundary.count == 70)
        for wrong in ["", "a ", "a\r\nb", "a\0b", "a\"b", "a;b", "\u{e9}", String(repeating: "b", count: 71)] {
            #expect { try MultipartFormData(boundary: wrong) } throws: { ($0 as? CurlewError)?.code == .invalidRequest }
        }
    }

    @Test("each kind of part is written with its fields in the order of the calls, and the length is exact")
    func parts() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("note.txt", Array("a note".utf8))
        var form = try MultipartFormData.test()
        form.append("Numenius", name: "genus")
        form.append([1, 2, 3], name: "raw")
        try form.append(.bytes([4]), name: "data", fileName: "a.bin", contentType: "x/y")
        try form.append(.bytes([5]), name: "typed", contentType: "application/json")
        try form.append(file: path, name: "file")
        try form.append(file: path, name: "file", fileName: "b.html", range: 2..<4)
        try form.append(.stream(length: 2) { chunks([[6], [7]]) }, name: "stream", fileName: "c.png")
        try form.append(.none, name: "none")
        try form.append(.bytes([8]), fields: [.contentType: "text/plain", HTTPField.Name("X-A")!: "b"])
        let expected = """
            --B\r
            Content-Disposition: form-data; name="genus"\r
            \r
            Numenius\r
            --B\r
            Content-Disposition: form-data; name="raw"\r
            \r
            \u{1}\u{2}\u{3}\r
            --B\r
            Content-Disposition: form-data; name="data"; filename="a.bin"\r
            Content-Type: x/y\r
            \r
            \u{4}\r
            --B\r
            Content-Disposition: form-data; name="typed"\r
            Content-Type: application/json\r
            \r
            \u{5}\r
            --B\r
            Content-Disposition: form-data; name="file"; filename="note.txt"\r
            Content-Type: text/plain\r
            \r
            a note\r
            --B\r
            Content-Disposition: form-data; name="file"; filename="b.html"\r
            Content-Type: text/html\r
            \r
            no\r
            --B\r
            Content-Disposition: form-data; name="stream"; filename="c.png"\r
            Content-Type: image/png\r
            \r
            \u{6}\u{7}\r
            --B\r
            Content-Disposition: form-data; name="none"\r
            \r
            \r
            --B\r
            Content-Type: text/plain\r
            X-A: b\r
            \r
            \u{8}\r
            --B--\r\n
            """
        #expect(form.count == 9)
        #expect(form.length == Int64(expected.utf8.count))
        #expect(try await form.text() == expected)
        #expect(form.body.isReplayable)
        #expect(try await form.text() == expected)
    }

    @Test("a form without parts consists of its final boundary")
    func empty() async throws {
        let form = try MultipartFormData.test()
        #expect(form.isEmpty)
        #expect(form.length == 7)
        #expect(try await form.text() == "--B--\r\n")
    }

    @Test(
        "names and file names are escaped as browsers do",
        arguments: [
            ("plain", "plain"), ("", ""), ("a\"b", "a%22b"), ("a\r\nX-Evil: 1\r\n\r\n", "a%0D%0AX-Evil: 1%0D%0A%0D%0A"),
            ("a\0b", "a%00b"), ("a\u{7f}\u{1b}", "a%7F%1B"), ("tab\tstays", "tab\tstays"), ("100%22", "100%22"),
            ("Großer Brachvogel 🐦", "Großer Brachvogel 🐦"), ("back\\slash;", "back\\slash;"),
        ])
    func names(_ name: String, _ escaped: String) async throws {
        var form = try MultipartFormData.test()
        try form.append(.bytes([]), name: name, fileName: name, contentType: "x/y")
        form.append("", name: name)
        #expect(
            try await form.text() == """
                --B\r
                Content-Disposition: form-data; name="\(escaped)"; filename="\(escaped)"\r
                Content-Type: x/y\r
                \r
                \r
                --B\r
                Content-Disposition: form-data; name="\(escaped)"\r
                \r
                \r
                --B--\r\n
                """)
        #expect(form.length == Int64(try await form.text().utf8.count))
    }

    @Test("filename* is added on request to names outside ASCII")
    func extendedNames() async throws {
        var form = try MultipartFormData.test()
        form.addsExtendedFileNames = true
        try form.append(.bytes([]), name: "é", fileName: "é 'a'.png")
        try form.append(.bytes([]), name: "f", fileName: "plain.png")
        let text = try await form.text()
        #expect(
            text.contains(
                #"form-data; name="é"; filename="é 'a'.png"; filename*=UTF-8''%C3%A9%20%27a%27.png"# + "\r\n"))
        #expect(text.contains(#"form-data; name="f"; filename="plain.png""# + "\r\n"))
    }

    @Test("a Content-Type or field with a control character is refused, line ends included")
    func badFields() async throws {
        var form = try MultipartFormData.test()
        for type in ["a/b\r\nX: y", "a\0", "\n", ""] {
            #expect { try form.append(.bytes([]), name: "n", contentType: type) } throws: {
                ($0 as? CurlewError)?.code == .invalidRequest
            }
        }
        let controlled = HTTPField(name: HTTPField.Name("X")!, lenientValue: [0x61, 1])
        #expect { try form.append(.bytes([]), fields: HTTPFields([controlled])) } throws: {
            ($0 as? CurlewError)?.code == .invalidRequest
        }
        #expect(form.isEmpty)
        #expect(HTTPField.Name("X\r\nY") == nil)
        try form.append(.bytes([]), fields: [HTTPField.Name("X")!: "a\r\nY: b\0c"])
        #expect(try await form.text() == "--B\r\nX: a  Y: b c\r\n\r\n\r\n--B--\r\n")
    }

    @Test("parameters become parts in the order of pairs, with unescaped names, data as bytes, null as an empty part")
    func parameters() async throws {
        var form = try MultipartFormData.test()
        try form.append(parameters: [
            "z": 1, "a": ["y": [true, "ä&="], "x": nil], "d": .data([0xFF, 0]), "e": [], "s": .set(["q", "p"]),
        ])
        func part(_ name: String, _ value: String) -> [UInt8] {
            Array("--B\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n".utf8)
        }
        var expected = part("a[x]", "") + part("a[y][]", "1") + part("a[y][]", "ä&=")
        expected += part("d", "").dropLast(2) + [0xFF, 0, 13, 10]
        expected += part("s", "p") + part("s", "q") + part("z", "1") + Array("--B--\r\n".utf8)
        #expect(try await form.body.bytes() == expected)
    }

    @Test("an encodable value's parameters become parts, in a custom style too")
    func encodable() async throws {
        struct Bird: Encodable {
            var name = "curlew"
            var tags = ["wader"]
        }
        var form = try MultipartFormData.test()
        var style = RequestParameters.Style()
        style.arrays = .indexed
        try form.append(parameters: Bird(), style: style)
        let text = try await form.text()
        #expect(text.contains("name=\"name\"\r\n\r\ncurlew\r\n") && text.contains("name=\"tags[0]\"\r\n\r\nwader\r\n"))
        let before = form.count
        #expect { try form.append(parameters: ["ok": 1, "x": ParameterValue(Double.nan)]) } throws: {
            ($0 as? CurlewError)?.code == .encodingFailed
        }
        #expect { try form.append(parameters: ParameterValue.array([1])) } throws: {
            ($0 as? CurlewError)?.code == .encodingFailed
        }
        #expect(form.count == before)
    }

    @Test("a copy of a form is independent")
    func value() throws {
        var first = try MultipartFormData.test()
        first.append("1", name: "a")
        var second = first
        second.append("2", name: "b")
        #expect(first.count == 1 && second.count == 2)
        #expect(first.length != second.length)
    }
}
