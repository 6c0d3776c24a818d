import Foundation
import SeededNumbers
import Testing
import ThreadWork

@testable import CurlewJSON

@Suite("The tape of a JSON text", .timeLimit(.minutes(2)))
struct JSONTapeTests {
    static let policies: [JSONCoding.ReadingOptions.DuplicateKeys] = [.firstWins, .lastWins]

    private func decode<Value: Decodable>(
        _ type: Value.Type, _ text: String, _ adjust: (inout JSONCoding.ReadingOptions) -> Void = { _ in }
    ) throws -> Value {
        var options = JSONCoding.ReadingOptions.anyValue
        adjust(&options)
        return try JSONReader(options: options, coding: JSONCoding()).decode(type, from: Array(text.utf8))
    }

    private struct Pair: Decodable, Equatable {
        var a: Int
        var b: Int
    }

    @Test("a duplicate name counts once, in any order of access and notation", arguments: policies)
    func duplicates(_ policy: JSONCoding.ReadingOptions.DuplicateKeys) throws {
        let isFirst = policy == .firstWins
        for (text, first, last) in [
            (#"{"b":1,"a":2,"b":3}"#, 1, 3), (#"{"b":1,"\u0062":3,"a":2}"#, 1, 3), (#"{"\u0062":1,"a":2,"b":3}"#, 1, 3),
            (#"{"b":1,"b":2,"a":2,"b":3}"#, 1, 3),
        ] {
            let pair = try decode(Pair.self, text) { $0.duplicateKeys = policy }
            #expect(pair == Pair(a: 2, b: isFirst ? first : last), "\(text)")
            #expect(try decode([String: Int].self, text) { $0.duplicateKeys = policy }.count == 2)
            #expect(throws: JSONCoding.Failure.self) { try decode(Pair.self, text) { $0.duplicateKeys = .fail } }
        }
    }

    @Test(
        "each member and duplicate name of a large object is found", arguments: [20, 24, 25, 26, 300, 20_000])
    func manyMembers(_ count: Int) throws {
        // The count is the seed, too.
        var numbers = SeededNumbers(seed: UInt64(count))
        let members = (0..<count).map { "\"name \($0)\":\($0)" }.shuffled(using: &numbers)
        let text = "{\(members.joined(separator: ",")),\"name 7\":-1}"
        for policy in Self.policies {
            let table = try decode([String: Int].self, text) { $0.duplicateKeys = policy }
            #expect(table.count == count)
            #expect(table["name 7"] == (policy == .firstWins ? 7 : -1))
            let value = try JSONTape(Array(text.utf8), options: .anyValue).value()
            #expect(value["name 19"] == 19)
        }
        struct Backwards: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: JSONKey.self)
                for number in (0..<container.allKeys.count).reversed() {
                    let key = JSONKey("name \(number)")
                    #expect(try container.decode(Int.self, forKey: key) == number)
                    #expect(!container.contains(JSONKey("name \(number)x")))
                }
            }
        }
        let time = try processorTime { _ = try decode(Backwards.self, text) }
        #expect(time < .seconds(20))
        #expect(throws: JSONCoding.Failure.self) { try decode([String: Int].self, text) { $0.duplicateKeys = .fail } }
    }

    @Test("removed nulls do not count, in objects of any size")
    func removedNulls() throws {
        let many = (0..<40).map { "\"n\($0)\":\($0 % 2 == 0 ? "null" : "1")" }.joined(separator: ",")
        for policy in Self.policies {
            let text = #"{"list":[null,1,null,[null],{"x":null}],"a":null,"a":1,"b":2,"b":null,\#(many)}"#
            let value = try decode(JSONValue.self, text) {
                $0.removesKeysWithNullValues = true
                $0.duplicateKeys = policy
            }
            #expect(value["list"] == [1, [], [:]])
            #expect(value["a"]?.intValue == (policy == .firstWins ? Int?.none : 1))
            #expect(value["b"]?.intValue == (policy == .firstWins ? 2 : Int?.none))
            #expect(value.objectValue?.count == 22)
            #expect(value.objectValue?.keys.contains("n0") == false && value["n39"] == 1)
            struct Model: Decodable {
                var list: [JSONValue]
                var n0: Int?
                var n1: Int?
            }
            let model = try decode(Model.self, text) {
                $0.removesKeysWithNullValues = true
                $0.duplicateKeys = policy
            }
            #expect(model.list == [1, [], [:]] && model.n0 == nil && model.n1 == 1)
        }
        #expect(try decode(JSONValue.self, "null") { $0.removesKeysWithNullValues = true } == nil)
    }

    @Test("strings of every length are read, with special characters at every position")
    func strings() throws {
        let pieces = ["", "\"", "\\", "/", "\u{8}\u{C}\n\r\t", "\u{1}", "é", "€", "😀", "\u{7F}", "\u{FFFF}"]
        for length in 0...40 {
            for (index, piece) in pieces.enumerated() {
                let place = length == 0 ? 0 : (index * 7) % (length + 1)
                let text = String(repeating: "x", count: place) + piece + String(repeating: "y", count: length - place)
                let json = try #require(String(data: JSONEncoder().encode([text, "end"]), encoding: .utf8))
                #expect(try decode([String].self, json) == [text, "end"], "\(length) \(index)")
                #expect(try decode(JSONValue.self, json) == [.string(text), "end"])
                let object = try #require(String(data: JSONEncoder().encode([text: 1, "end": 2]), encoding: .utf8))
                #expect(try decode([String: Int].self, object) == (text == "end" ? ["end": 2] : [text: 1, "end": 2]))
            }
        }
        #expect(
            try decode(String.self, #""\u00e9\u20AC\uD83D\ude00\b\f\n\r\t\/\\\"\u0000""#)
                == "é€😀\u{8}\u{C}\n\r\t/\\\"\0")
    }

    @Test("a truncated text is an error, and never a trap")
    func cutOff() {
        let text = Array(#"{"a":[1.5e+3,-0,"\u00e9\ud83d\ude00\n",true,false,null,{"b":{}}],"é":"é"}"#.utf8)
        for length in 0..<text.count {
            let part = Array(text[..<length])
            #expect(throws: JSONCoding.Failure.self) { try JSONValue(parsing: part) }
            #expect(throws: JSONCoding.Failure.self) { try JSONCoding().decode([String: JSONValue].self, from: part) }
        }
    }

    @Test("doubles are the nearest to their decimal digits")
    func doubles() throws {
        var numbers = SeededNumbers(seed: 18)
        var texts = [
            "0", "-0", "0.0", "5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993",
            "9007199254740992.5", "9007199254740993e0", "9007199254740993.00000000000000000001", "0.1", "1e23",
            "8.5e22",
            "123456789012345678", "1234567890123456789", "12345678901234567890", "18446744073709551616e3",
            "7.2057594037927933e16", "1e-22", "1e-23", "4.35", "2.0e-3", "3.4028235677973366e38", "89255e-22",
        ]
        for _ in 0..<20_000 {
            let double = Double(bitPattern: numbers.next())
            if double.isFinite { texts.append("\(double)") }
            let mantissa = numbers.next() >> (numbers.next() % 64)
            texts.append("\(mantissa)e\(Int(numbers.next() % 120) - 60)")
            texts.append("\(mantissa).\(numbers.next() % 1_000_000)")
        }
        let values = try decode([Double].self, "[\(texts.joined(separator: ","))]")
        for (text, value) in zip(texts, values) {
            let expected = try #require(Double(text))
            #expect(value.bitPattern == expected.bitPattern, "\(text)")
        }
        let floats = try decode(
            [Float].self, "[\(texts.filter { Float($0)?.isNormal == true }.joined(separator: ","))]")
        for (text, value) in zip(texts.filter { Float($0)?.isNormal == true }, floats) {
            #expect(value == Float(text), "\(text)")
        }
    }

    @Test("an invalid element has its index in the path, at constant cost")
    func manyErrors() throws {
        struct Lossy: Decodable {
            var paths: [[any CodingKey]] = []

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                while !container.isAtEnd {
                    do { _ = try container.decode(Int.self) } catch DecodingError.typeMismatch(_, let context) {
                        paths.append(context.codingPath)
                        _ = try container.decode(Bool.self)
                    }
                }
            }
        }
        let text = "{\"list\":[1,\(Array(repeating: "true", count: 40_000).joined(separator: ","))]}"
        var lossy: [String: Lossy] = [:]
        let time = try processorTime { lossy = try decode([String: Lossy].self, text) }
        let paths = try #require(lossy["list"]).paths
        #expect(paths.count == 40_000)
        #expect(paths.last?.map(\.stringValue) == ["list", "40000"] && paths[7].last?.intValue == 8)
        #expect(time < .seconds(20))
    }
}
