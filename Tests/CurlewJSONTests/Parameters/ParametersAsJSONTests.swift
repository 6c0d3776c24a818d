import CurlewJSON
import Foundation
import Testing

@Suite("Parameters as JSON")
struct ParametersAsJSONTests {
    private func json(
        _ value: ParameterValue, _ options: JSONCoding.Style.Options = [],
        _ adjust: (inout JSONCoding.Style) -> Void = { _ in }
    )
        throws -> String
    {
        var style = JSONCoding.Style()
        style.options = options
        adjust(&style)
        return String(decoding: try value.json(style: style), as: UTF8.self)
    }

    @Test(
        "JSON is written in the given order with escaped slashes by default",
        arguments: [
            (["b": 1, "a": [true, false, nil]], #"{"b":1,"a":[true,false,null]}"#),
            (["u": "http://x/"], #"{"u":"http:\/\/x\/"}"#),
            ([], "[]"), ([:], "{}"), ([[], [:]], "[[],{}]"),
            ([1.5, 5.0, -0.0, 1e20, 0.1], "[1.5,5,-0,1e+20,0.1]"),
            (
                [.number(ParameterValue.Number(UInt64.max)), .number(ParameterValue.Number(Float(1.1)))],
                "[18446744073709551615,1.1]"
            ),
            ([.set(["b", "a", 3])], #"[[3,"a","b"]]"#),
            (["": ""], #"{"":""}"#),
            ([.data([1, 2, 3])], #"["AQID"]"#),
            ([.date(Date(timeIntervalSince1970: 1))], #"["1970-01-01T00:00:01Z"]"#),
        ] as [(ParameterValue, String)])
    func defaults(_ value: ParameterValue, _ expected: String) throws {
        #expect(try json(value) == expected)
    }

    @Test("digits beyond every number type are preserved")
    func digits() throws {
        let digits = "1234567890.12345678901234567890123456789e+400"
        let number = try #require(ParameterValue.Number(decimal: digits))
        #expect(try json([.number(number)]) == "[\(digits)]")
    }

    @Test("every scalar below 0x100 and samples of all planes survive writing and reading")
    func everyScalar() throws {
        var text = ""
        for value in UInt32(0)...0xFF { UnicodeScalar(value).map { text.unicodeScalars.append($0) } }
        text += "\u{2028}\u{2029}\u{FEFF}\u{FFFD}\u{FFFF}\u{10FFFF}e\u{301}\u{1F469}\u{200D}\u{1F680}"
        for options: JSONCoding.Style.Options in [[], .withoutEscapingSlashes, .prettyPrinted] {
            let written = try json([text: .string(text)], options)
            let read = try JSONDecoder().decode([String: String].self, from: Data(written.utf8))
            #expect(read == [text: text])
            let hasRawControl = written.utf8.contains { $0 < 0x20 && $0 != UInt8(ascii: "\n") }
            #expect(!hasRawControl)
        }
        #expect(
            try json(["\u{0}\u{8}\t\n\u{B}\u{C}\r\u{1F}\u{7F}\"\\/"]) == #"["\u0000\b\t\n\u000b\f\r\u001f"# + "\u{7F}"
                + #"\"\\\/"]"#)
    }

    struct Sample: Codable, Equatable {
        var name = "a/b \"c\""
        var numbers = [1, 2.5, -3e-7, 1e300]
        var flags = [true, false]
        var nested = ["z": ["y": 1], "a": [:]]
        var none: [Int] = []
        var date = Date(timeIntervalSince1970: 1_700_000_000)
        var data = Data([0, 255])
        var url = URL(string: "https://example.com/?q=1")
        var big = UInt64.max
        var decimal = Decimal(string: "0.1")
    }

    @Test(
        "the text equals that of Foundation's encoder",
        arguments: [
            [], .prettyPrinted, .withoutEscapingSlashes, [.prettyPrinted, .withoutEscapingSlashes],
        ] as [JSONCoding.Style.Options])
    func asFoundation(_ options: JSONCoding.Style.Options) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .sortedKeys
        if options.contains(.prettyPrinted) { encoder.outputFormatting.insert(.prettyPrinted) }
        if options.contains(.withoutEscapingSlashes) { encoder.outputFormatting.insert(.withoutEscapingSlashes) }
        let expected = String(decoding: try encoder.encode(Sample()), as: UTF8.self)
        #expect(try json(ParameterValue(encoding: Sample()), options.union(.sortedKeys)) == expected)
    }

    @Test("Foundation's decoder reads the text")
    func readAgain() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let bytes = try ParameterValue(encoding: Sample()).json()
        #expect(try decoder.decode(Sample.self, from: Data(bytes)) == Sample())
    }

    @Test(
        "the top level must be a dictionary or an array, unless fragments are allowed",
        arguments: [
            ("text", #""text""#), (5, "5"), (true, "true"), (nil, "null"), (.data([1]), #""AQ==""#),
        ] as [(ParameterValue, String)])
    func fragments(_ value: ParameterValue, _ expected: String) throws {
        let error = #expect(throws: JSONCoding.Failure.self) { try json(value) }
        #expect(error?.code == .encodingFailed)
        #expect(try json(value, .fragmentsAllowed) == expected)
    }

    @Test(
        "numbers that are not finite are errors in JSON, or written as the style's text",
        arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(_ number: Double) throws {
        let value: ParameterValue = ["a": [["b": ParameterValue(number)]]]
        let error = #expect(throws: JSONCoding.Failure.self) { try json(value) }
        #expect(error?.description.contains("a[0].b") == true)
        let written = try json(value) {
            $0.nonFinite = .text(positiveInfinity: "+", negativeInfinity: "-", notANumber: "?")
        }
        #expect(written == #"{"a":[{"b":"\#(number.isNaN ? "?" : number > 0 ? "+" : "-")"}]}"#)
    }

    @Test("dates and data are written to JSON in the chosen style")
    func styles() throws {
        let value: ParameterValue = [.date(Date(timeIntervalSince1970: 1.5)), .data([255])]
        let written = try json(value) { ($0.dates, $0.data) = (.millisecondsSince1970, .hexadecimal) }
        #expect(written == #"[1500,"ff"]"#)
        #expect(try json(value) { $0.dates = .secondsSince1970 } == #"[1.5,"\/w=="]"#)
        let error = #expect(throws: JSONCoding.Failure.self) {
            try json(value) { $0.data = .custom { _ in throw CancellationError() } }
        }
        #expect(error?.underlying is CancellationError)
    }

    @Test("JSON is refused if its parameters are nested deeper than 128 levels", arguments: [128, 129, 5000])
    func depth(_ levels: Int) throws {
        for wrap: (ParameterValue) -> ParameterValue in [{ ["k": $0] }, { [$0] }, { .set([$0]) }] {
            var value: ParameterValue = 1
            for _ in 0..<levels { value = wrap(value) }
            if levels <= ParameterValue.depthLimit {
                #expect(try !json(value).isEmpty)
            } else {
                #expect(throws: JSONCoding.Failure.self) { try json(value) }
            }
        }
    }
}
