import Foundation
import SeededNumbers
import Testing
import ThreadWork

@testable import CurlewJSON

@Suite("JSON values", .timeLimit(.minutes(1)))
struct JSONValueTests {
    private func parse(_ text: String, _ adjust: (inout JSONCoding.ReadingOptions) -> Void = { _ in }) throws
        -> JSONValue
    {
        var options = JSONCoding.ReadingOptions.anyValue
        adjust(&options)
        return try JSONValue(parsing: Array(text.utf8), options: options)
    }

    private func fault(_ text: String, _ adjust: (inout JSONCoding.ReadingOptions) -> Void = { _ in }) -> JSONCoding
        .Failure?
    {
        do {
            _ = try parse(text, adjust)
            return nil
        } catch {
            return error as? JSONCoding.Failure
        }
    }

    @Test("every kind of value is parsed and accessible")
    func kinds() throws {
        let value = try parse(#" {"a": [null, true, -12, 1.5e3, "x\n\u00e9\ud83d\ude00\/"], "b": {}, "": false} "#)
        #expect(value["a"]?[0]?.isNull == true)
        #expect(value["a"]?[1]?.boolValue == true)
        #expect(value["a"]?[2]?.intValue == -12)
        #expect(value["a"]?[3]?.doubleValue == 1500)
        #expect(value["a"]?[4]?.stringValue == "x\né😀/")
        #expect(value["b"]?.objectValue?.isEmpty == true)
        #expect(value[""] == false)
        #expect(value.objectValue?.keys == ["a", "b", ""])
        #expect(value["a"]?[5] == nil)
        #expect(value["a"]?["b"] == nil)
        #expect(value["missing"]?[0]?.stringValue == nil)
    }

    @Test(
        "a text that RFC 8259 does not allow is an error",
        arguments: [
            "", " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
            "{'a':1}",
            "{1:2}", "nul", "True", "NaN", "Infinity", "-Infinity", "+1", "01", "-01", "-", "1.", ".5", "1e", "1e+",
            "0x10",
            "1_000", "\"", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\t\"", "\"\u{0}\"", "// x\n1", "1 2", "[]]",
            "{}x",
            "\u{FEFF}\u{FEFF}1", "\"\\", "[\"\\\"]", "1\u{A0}",
        ])
    func invalid(_ text: String) {
        #expect(fault(text)?.code == .decodingFailed, "\(text)")
    }

    @Test(
        "half a surrogate pair in escapes is an error",
        arguments: [
            #""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\ud800""#, #""\ud83d\u0041""#,
            #""\ud83d\u""#,
        ])
    func surrogates(_ text: String) { #expect(fault(text)?.code == .decodingFailed) }

    @Test("a parsing error has the line and column, and does not quote the text")
    func position() {
        let error = fault("{\n  \"secret\": 1,\n  \"secret\" 2}")
        #expect(error?.description == "a name lacks its colon, at line 3, column 12")
        #expect(error.map { "\($0)" }?.contains("secret") == false)
    }

    @Test("integers are exact in 64 bits, other numbers are doubles, and the rest keeps its text")
    func numbers() throws {
        #expect(try parse("9223372036854775807").numberValue?.integer() == Int64.max)
        #expect(try parse("-9223372036854775808").numberValue?.integer() == Int64.min)
        #expect(try parse("18446744073709551615").numberValue?.integer() == UInt64.max)
        #expect(try parse("18446744073709551615").numberValue?.integer(as: Int64.self) == nil)
        #expect(try parse("-0").doubleValue?.sign == .minus)
        #expect(try parse("0.1").doubleValue == 0.1)
        #expect(try parse("1.0") == 1)
        #expect(try parse("1.0").hashValue == parse("1").hashValue)
        for text in ["1e-400", "18446744073709551616", "3.14159265358979323846"] {
            let number = try #require(try parse(text).numberValue)
            #expect(number.isBig)
            #expect(number.description == text)
            #expect(fault(text) { $0.bigNumbers = .fail }?.code == .decodingFailed)
        }
        #expect(try parse("1e-400").doubleValue == 0)
        #expect(try parse("3.14159265358979323846").doubleValue == Double.pi)
        #expect(try parse("0.00e5").doubleValue == 0)
        #expect(try parse("0.10000000000000001").numberValue?.isBig == false)
        #expect(try parse(String(repeating: "9", count: 308)).numberValue?.isBig == true)
        #expect(JSONValue.Number(Double.nan) == nil)
        #expect(try JSONValue.number(#require(JSONValue.Number(2.5))) == 2.5)
        #expect(JSONValue.number(JSONValue.Number(UInt64(5))) == 5)
    }

    @Test("the first or the last value of a duplicate key applies, or the key is an error")
    func duplicates() throws {
        let text = #"{"a": 1, "b": 2, "a": 3}"#
        #expect(try parse(text) == ["a": 1, "b": 2])
        #expect(try parse(text) { $0.duplicateKeys = .lastWins } == ["a": 3, "b": 2])
        #expect(fault(text) { $0.duplicateKeys = .fail }?.description.contains("line 1, column 18") == true)
        #expect(fault(#"{"a": {"a": 1}, "b": {"a": 1}}"#) { $0.duplicateKeys = .fail } == nil)
    }

    @Test(
        "JSON nested deeper than 512 levels is refused, and 100,000 levels are harmless",
        arguments: ["[", "{\"a\":", "[{\"a\":"])
    func depth(_ opening: String) throws {
        #expect(fault(String(repeating: opening, count: 100_000))?.description.contains("nested") == true)
        let text = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try parse(text).arrayValue?.count == 1)
        #expect(fault("[\(text)]")?.description.contains("more than 512") == true)
        var options = JSONCoding.ReadingOptions()
        options.maximumDepth = 1_000_000
        #expect(options.maximumDepth == 512)
    }

    @Test("the deepest allowed value needs less than half a thread's stack in every operation")
    func stack() async {
        struct Nested: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd { _ = try container.decode(Nested.self) }
            }
        }
        let text = Array((String(repeating: "[", count: 512) + String(repeating: "]", count: 512)).utf8)
        var options = JSONCoding.ReadingOptions.anyValue
        options.removesKeysWithNullValues = true
        let isSame = await onThread(stackSize: 4 << 20) { [options] in
            guard let value = try? JSONValue(parsing: text, options: options) else { return false }
            let again = try? JSONValue(parsing: value.jsonBytes(), options: options)
            _ = try? value.decode(as: Nested.self)
            return value == again && value.hashValue == again?.hashValue
        }
        #expect(isSame)
    }

    @Test("the top level may be restricted to objects or arrays")
    func fragments() throws {
        for text in ["1", "\"a\"", "null", "true"] {
            #expect(fault(text) == nil)
            #expect(fault(text) { $0.allowsFragments = false }?.description.contains("fragments") == true)
        }
        #expect(fault("[]") { $0.allowsFragments = false } == nil)
    }

    @Test("null members can be removed at every level")
    func nulls() throws {
        let text = #"{"a": null, "b": [null, 1, [null], {"c": null, "d": []}], "e": {"f": null}}"#
        #expect(
            try parse(text) { $0.removesKeysWithNullValues = true } == ["b": [1, [], ["d": []]], "e": [:]])
    }

    @Test("every Unicode encoding is read, with and without a byte order mark")
    func encodings() throws {
        let text = #"{"é": "😀"}"#
        let expected: JSONValue = ["é": "😀"]
        let big16 = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        let little16 = text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        let big32 = text.unicodeScalars.flatMap { scalar in (0..<4).map { UInt8(scalar.value >> (24 - 8 * $0) & 255) } }
        let little32 = text.unicodeScalars.flatMap { scalar in (0..<4).map { UInt8(scalar.value >> (8 * $0) & 255) } }
        let forms: [[UInt8]] = [
            Array(text.utf8), [0xEF, 0xBB, 0xBF] + Array(text.utf8), big16, [0xFE, 0xFF] + big16, little16,
            [0xFF, 0xFE] + little16, big32, [0, 0, 0xFE, 0xFF] + big32, little32, [0xFF, 0xFE, 0, 0] + little32,
        ]
        for bytes in forms { #expect(try JSONValue(parsing: bytes) == expected) }
        for bytes in [Array(big16.dropLast()), Array(little32.dropLast())] {
            #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: bytes) }
        }
    }

    @Test(
        "bytes that are not UTF-8 are an error at every position",
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
        ] as [[UInt8]])
    func invalidUTF8(_ bytes: [UInt8]) {
        for (before, after) in [("[\"", "\"]"), ("{\"", "\": 1}"), ("[1]", ""), ("", "[1]")] {
            let text = Array(before.utf8) + bytes + Array(after.utf8)
            #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: text) }
        }
    }

    @Test("a written value is read as an equal one, in the same order")
    func writing() throws {
        let text = #"{"z":[null,true,-1,1.5,"\"\\\n\u0001é😀/"],"a":{},"big":1e-400,"n":12345678901234567890123}"#
        let value = try parse(text)
        #expect(value.description == text)
        #expect(String(decoding: value.jsonBytes(sortsKeys: true), as: UTF8.self).hasPrefix(#"{"a":{},"big""#))
        var generator = SeededNumbers(seed: 7)
        for _ in 0..<200 {
            let value = Self.random(depth: 4, &generator)
            #expect(try parse(value.description) == value)
        }
    }

    private static func random(depth: Int, _ generator: inout SeededNumbers) -> JSONValue {
        switch Int.random(in: 0...(depth > 0 ? 6 : 4), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .number(JSONValue.Number(Int64.random(in: .min ... .max, using: &generator)))
        case 3:
            return JSONValue.Number(Double.random(in: -1e300...1e300, using: &generator)).map { .number($0) } ?? .null
        case 4:
            let scalars = (0..<5).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator)) }
            return .string(String(String.UnicodeScalarView(scalars)))
        case 5: return .array((0..<3).map { _ in random(depth: depth - 1, &generator) })
        default:
            var object = JSONValue.Object()
            for index in 0..<3 { object["k\(index)"] = random(depth: depth - 1, &generator) }
            return .object(object)
        }
    }

    @Test("an object keeps its order, which does not affect equality")
    func objects() {
        var object: JSONValue.Object = ["b": 1, "a": 2]
        object["c"] = 3
        object["b"] = nil
        object["b"] = 4
        object["missing"] = nil
        #expect(object.keys == ["a", "c", "b"])
        #expect(object.map(\.key) == object.keys)
        #expect(object == ["b": 4, "a": 2, "c": 3])
        #expect(Set([object]).contains(["a": 2, "b": 4, "c": 3]))
    }

    @Test("member names are equal only if their code points are, so composed and decomposed letters differ")
    func namesByCodePoint() throws {
        let text = Array("{\"\u{E9}\": 1, \"e\u{301}\": 2}".utf8)
        var options = JSONCoding.ReadingOptions()
        options.duplicateKeys = .fail
        let value = try JSONValue(parsing: text, options: options)
        #expect(value["\u{E9}"] == 1)
        #expect(value["e\u{301}"] == 2)
        #expect(value.jsonBytes() == Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8))
        var object = try #require(value.objectValue)
        object["e\u{301}"] = nil
        #expect(object.keys.map { Array($0.utf8) } == [[0xC3, 0xA9]])
        #expect(object != ["e\u{301}": 1])
        #expect(Set([object]).contains(["\u{E9}": 1]))
    }

    @Test(
        "a name with too many combining marks is refused before it is compared, escaped or not",
        // The last argument is a code point that decomposes into two marks, and has no combining class itself.
        arguments: [["\u{301}", "\u{323}"], ["\\u0301", "\\u0323"], ["\u{F73}", "\u{F73}"]])
    func combiningMarks(_ marks: [String]) throws {
        // The standard library takes 13 s to hash or compare such a name in an optimized build.
        let name = (0..<240_000).map { marks[$0 % 2] }.joined()
        let text = "{\"a\(name)\": 1, \"a\(name)\": 2}"
        for policy in [JSONCoding.ReadingOptions.DuplicateKeys.firstWins, .lastWins, .fail] {
            let time = processorTime {
                #expect(throws: JSONCoding.Failure.self) { try parse(text, { $0.duplicateKeys = policy }) }
                #expect(throws: JSONCoding.Failure.self) {
                    try JSONReader(options: .anyValue, coding: JSONCoding()).decode(
                        [String: Int].self, from: Array(text.utf8))
                }
            }
            #expect(time < .seconds(10))
        }
    }

    @Test("names with the maximum of combining marks take linear time, also in Foundation")
    func longNames() throws {
        let run =
            "a"
            + (0..<JSONCoding.ReadingOptions.combiningMarkLimit).map { $0 % 2 == 0 ? "\u{301}" : "\u{323}" }.joined()
        let name = String(repeating: run, count: 3000)
        let text = "{\"\(name)\": 1}"
        let reader = JSONReader(options: .anyValue, coding: JSONCoding())
        var decoded: [String: Int] = [:]
        var member: JSONValue?
        let time = try processorTime {
            decoded = try reader.decode([String: Int].self, from: Array(text.utf8))
            member = try parse(text)[name]
        }
        #expect(time < .seconds(10))
        #expect(decoded.count == 1 && member == 1)
    }

    @Test("any bytes can be parsed as JSON without a trap")
    func anyBytes() {
        var generator = SeededNumbers(seed: 3)
        let alphabet = Array(#"{}[]",:\u0019dD8.eE+-truefalsn é"#.utf8) + [0, 0xFF, 0xFE]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator) ?? 0
            }
            guard let value = try? JSONValue(parsing: bytes) else { continue }
            #expect((try? JSONValue(parsing: value.jsonBytes())) == value)
        }
    }
}
