import CurlewJSON
import Foundation
import Testing

@Suite("Decoding models from a JSON value")
struct JSONDecodingTests {
    struct Everything: Codable, Equatable {
        enum Kind: String, Codable { case small, large }
        struct Inner: Codable, Equatable { var x: Double }

        var flag: Bool
        var text: String
        var small: Int8
        var large: UInt64
        var float: Float
        var kind: Kind
        var inner: [Inner]
        var table: [String: Int]
        var missing: Int?
        var null: String?
        var data: Data
        var url: URL
        var decimal: Decimal
        var any: JSONValue
        var pair: [[Int]]
    }

    private let text = #"""
        {"flag": true, "text": "é", "small": -128, "large": 18446744073709551615, "float": 1.5, "kind": "large",
         "inner": [{"x": 1}, {"x": 2.5}], "table": {"a": 1}, "null": null, "data": "AQID",
         "url": "https://example.com/a?b", "decimal": 0.1, "any": {"deep": [1, null]}, "pair": [[1], [2, 3]]}
        """#

    @Test("a model is decoded as by Foundation's decoder")
    func everything() throws {
        let value = try JSONValue(parsing: Array(text.utf8))
        let expected = try JSONDecoder().decode(Everything.self, from: Data(text.utf8))
        #expect(try value.decode(as: Everything.self) == expected)
        #expect(try value.decode(as: JSONValue.self) == value)
        #expect(try value["any"]?.decode(as: JSONValue.Object.self) == ["deep": [1, nil]])
    }

    @Test("a JSON value can be a part of a model, for encoding and decoding")
    func partOfModel() throws {
        let value = try JSONValue(
            parsing: Array(#"{"a": [1, 2.5, "x", true, null, {"b": 18446744073709551615}]}"#.utf8))
        let written = try JSONEncoder().encode(["value": value])
        #expect(try JSONDecoder().decode([String: JSONValue].self, from: written) == ["value": value])
    }

    @Test("a decoding error has the path of the value")
    func errors() throws {
        let value: JSONValue = ["a": [["b": 1], ["b": "x"]]]
        let error = #expect(throws: DecodingError.self) { try value.decode(as: [String: [[String: Int]]].self) }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("not a mismatch: \(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["a", "1", "b"])
    }

    @Test("numbers outside the range of their type are errors")
    func ranges() throws {
        #expect(throws: DecodingError.self) { try JSONValue.number(JSONValue.Number(300)).decode(as: Int8.self) }
        #expect(throws: DecodingError.self) { try JSONValue(1.5).decode(as: Int.self) }
        #expect(throws: DecodingError.self) { try JSONValue(-1).decode(as: UInt.self) }
        var options = JSONCoding.ReadingOptions.anyValue
        options.outOfRange = .keep
        let huge = try JSONValue(parsing: Array("1e400".utf8), options: options)
        #expect(throws: DecodingError.self) { try huge.decode(as: Double.self) }
        #expect(throws: DecodingError.self) { try JSONValue(1e300).decode(as: Float.self) }
        #expect(throws: DecodingError.self) { try JSONValue.null.decode(as: Int.self) }
        #expect(throws: DecodingError.self) { try JSONValue("1").decode(as: Int.self) }
        #expect(throws: DecodingError.self) { try JSONValue("not base 64").decode(as: Data.self) }
        #expect(throws: DecodingError.self) { try JSONValue.array([1]).decode(as: [String: Int].self) }
        let large = try JSONValue(parsing: Array("170141183460469231731687303715884105727".utf8))
        #expect(try large.decode(as: Int128.self) == Int128.max)
    }

    @Test("containers can be nested and requested manually")
    func containers() throws {
        struct Manual: Decodable {
            enum Key: String, CodingKey { case list, map, parent = "super" }

            var values: [Int] = []
            var keys: [String]

            init(from decoder: any Decoder) throws {
                let top = try decoder.container(keyedBy: Key.self)
                keys = top.allKeys.map(\.stringValue)
                var list = try top.nestedUnkeyedContainer(forKey: .list)
                if try !list.decodeNil() { Issue.record("the first is null") }
                let inner = try list.nestedContainer(keyedBy: Key.self)
                values.append(try inner.decode(Int.self, forKey: .map))
                var nested = try list.nestedUnkeyedContainer()
                values.append(try nested.decode(Int.self))
                #expect(nested.isAtEnd && list.isAtEnd)
                #expect(throws: DecodingError.self) { try list.decode(Int.self) }
                values.append(try top.superDecoder().singleValueContainer().decode(Int.self))
                #expect(try top.decodeNil(forKey: .map))
            }
        }
        let value: JSONValue = ["list": [nil, ["map": 1], [2]], "map": nil, "super": 3, "other": 4]
        let manual = try value.decode(as: Manual.self)
        #expect(manual.values == [1, 2, 3])
        #expect(manual.keys == ["list", "map", "super"])
    }
}
