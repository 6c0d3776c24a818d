import Foundation
import Testing

@testable import CurlewJSON

@Suite("Decoding of types from JSON", .timeLimit(.minutes(1)))
struct JSONTapeDecoderTests {
    private func decode<Value: Decodable>(
        _ type: Value.Type, _ text: String, _ coding: JSONCoding = JSONCoding()
    ) throws -> Value {
        try coding.decode(type, from: Array(text.utf8))
    }

    private func fault<Value: Decodable>(_ type: Value.Type, _ text: String) -> String {
        do { return "\(try decode(type, text))" } catch let error as DecodingError {
            switch error {
            case .typeMismatch(_, let context): return "mismatch \(context.codingPath.map(\.stringValue))"
            case .valueNotFound(_, let context): return "null \(context.codingPath.map(\.stringValue))"
            case .keyNotFound(let key, let context):
                return "no \(key.stringValue) \(context.codingPath.map(\.stringValue))"
            case .dataCorrupted(let context): return "corrupted \(context.codingPath.map(\.stringValue))"
            @unknown default: return "\(error)"
            }
        } catch { return "\(error)" }
    }

    private struct Inner: Decodable {
        var x: Int
        var list: [Int]?
    }

    private struct Outer: Decodable {
        var inner: Inner
        var all: [Inner]?
        var named: [String: Inner]?
    }

    @Test("an error has its reason and position")
    func errors() {
        #expect(fault(Outer.self, "{}") == #"no inner []"#)
        #expect(fault(Outer.self, #"{"inner":null}"#) == #"null ["inner"]"#)
        #expect(fault(Outer.self, #"{"inner":[]}"#) == #"mismatch ["inner"]"#)
        #expect(fault(Outer.self, #"{"inner":{}}"#) == #"no x ["inner"]"#)
        #expect(fault(Outer.self, #"{"inner":{"x":1.5}}"#) == #"corrupted ["inner", "x"]"#)
        #expect(
            fault(Outer.self, #"{"inner":{"x":1},"all":[{"x":1},{"x":1,"list":[0,0,""]}]}"#)
                == #"mismatch ["all", "1", "list", "2"]"#)
        #expect(
            fault(Outer.self, #"{"inner":{"x":1},"named":{"a":{"x":1},"b":{"x":true}}}"#)
                == #"mismatch ["named", "b", "x"]"#)
        #expect(fault([Int].self, "{}") == "mismatch []" && fault([String: Int].self, "[]") == "mismatch []")
        #expect(fault([Int].self, "null") == "null []" && fault(Int.self, "\"1\"") == "mismatch []")
    }

    @Test(
        "an integer is read from every notation of an integer, and from no other number",
        arguments: [
            ("0", "0"), ("-0", "0"), ("3.0", "3"), ("1e2", "100"), ("-1.50e1", "-15"), ("1200e-2", "12"),
            ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "corrupted []"), ("-9223372036854775809", "corrupted []"), ("0.5", "corrupted []"),
            ("1e19", "corrupted []"), ("1e-1", "corrupted []"), ("9007199254740993.0", "9007199254740993"),
            ("12345678901234567.000", "12345678901234567"), ("9007199254740993000e-3", "9007199254740993"),
            ("9223372036854775807.00000000000000000000", "9223372036854775807"), ("0.00000000000000000000", "0"),
            ("123456789012345678.5", "corrupted []"), ("0e99999999999999999999", "0"),
            ("1e-400", "corrupted []"), ("1e308", "corrupted []"), ("true", "mismatch []"),
            ("null", "null []"),
        ])
    func integers(_ text: String, _ expected: String) { #expect(fault(Int.self, text) == expected) }

    @Test("numbers are read into each type with a sufficient range")
    func numbers() throws {
        #expect(fault(UInt8.self, "255") == "255" && fault(UInt8.self, "256") == "corrupted []")
        #expect(fault(UInt8.self, "-1") == "corrupted []" && fault(Int8.self, "-128") == "-128")
        #expect(fault(UInt64.self, "18446744073709551615") == "18446744073709551615")
        #expect(try decode(UInt128.self, "340282366920938463463374607431768211455") == .max)
        #expect(try decode(Int128.self, "-170141183460469231731687303715884105728") == .min)
        #expect(
            try decode(Decimal.self, "0.1234567890123456789012345") == Decimal(string: "0.1234567890123456789012345"))
        #expect(try decode(Double.self, "-0").sign == .minus)
        #expect(fault(Double.self, "1e-400") == "0.0" && fault(Double.self, "-1e-400") == "-0.0")
        #expect(fault(Double.self, "0e400") == "0.0" && fault(Float.self, "1e39") == "corrupted []")
        #expect(fault(Float.self, "0.1") == "0.1" && fault(Float.self, "1e-50") == "0.0")
    }

    @Test("members are compared by bytes, and a dictionary keeps the first of two canonically equivalent ones")
    func names() throws {
        struct Letters: Decodable, Equatable {
            enum CodingKeys: String, CodingKey {
                case composed = "\u{E9}"
            }
            var composed: Int
        }
        #expect(try decode(Letters.self, "{\"e\u{301}\":1,\"\u{E9}\":2}") == Letters(composed: 2))
        #expect(fault(Letters.self, "{\"e\u{301}\":1}") == "no \u{E9} []")
        #expect(try decode([String: Int].self, "{\"e\u{301}\":1,\"\u{E9}\":2}") == ["\u{E9}": 1])
    }

    @Test("a missing member and a null are different errors, and a superclass without a member is decoded from null")
    func missing() throws {
        struct Asked: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: JSONKey.self)
                #expect(throws: DecodingError.self) { try container.decodeNil(forKey: JSONKey("none")) }
                #expect(throws: DecodingError.self) {
                    try container.nestedContainer(keyedBy: JSONKey.self, forKey: JSONKey("none"))
                }
                #expect(try container.decodeNil(forKey: JSONKey("null")))
                #expect(try container.decodeIfPresent(Int.self, forKey: JSONKey("none")) == nil)
                #expect(try container.decodeIfPresent(Int.self, forKey: JSONKey("null")) == nil)
                #expect(try container.superDecoder().singleValueContainer().decodeNil())
                #expect(try container.superDecoder(forKey: JSONKey("one")).singleValueContainer().decode(Int.self) == 1)
                #expect(container.allKeys.map(\.stringValue) == ["null", "one"])
            }
        }
        _ = try decode(Asked.self, #"{"null":null,"one":1}"#)
    }

    @Test("an element that cannot be decoded stays the next one, and null is only consumed as null")
    func elements() throws {
        struct Asked: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                #expect(container.count == 3 && container.currentIndex == 0)
                #expect(throws: DecodingError.self) { try container.decode(Int.self) }
                #expect(try container.decode(String.self) == "a")
                #expect(try container.decodeNil())
                #expect(try !container.decodeNil())
                #expect(container.currentIndex == 2)
                var inner = try container.nestedUnkeyedContainer()
                #expect(try inner.decode(Int.self) == 1 && inner.isAtEnd && container.isAtEnd)
                #expect(throws: DecodingError.self) { try container.decode(Int.self) }
                #expect(throws: DecodingError.self) { try container.decodeNil() }
                #expect(inner.codingPath.map(\.intValue) == [2])
            }
        }
        _ = try decode(Asked.self, #"["a",null,[1]]"#)
    }

    private final class Tree: Decodable {
        let name: String
        let before: [Tree]
        let after: String

        enum CodingKeys: CodingKey { case name, before, after }

        init(from decoder: any Decoder) throws {
            // The container is requested again after others for the same keys were created.
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            before = try container.decode([Tree].self, forKey: .before)
            after = try container.decode(String.self, forKey: .after)
        }

        var text: String { "\(name)(\(before.map(\.text).joined()))\(after)" }
    }

    @Test("a recursive type has a container for each running level")
    func recursion() throws {
        func json(_ depth: Int) -> String {
            let inner = depth == 0 ? "" : "\(json(depth - 1)),\(json(depth - 1))"
            return "{\"after\":\"/\(depth)\",\"before\":[\(inner)],\"name\":\"\(depth)\"}"
        }
        func expected(_ depth: Int) -> String {
            "\(depth)(\(depth == 0 ? "" : expected(depth - 1) + expected(depth - 1)))/\(depth)"
        }
        #expect(try decode(Tree.self, json(6)).text == expected(6))
    }

    /// `@unchecked Sendable`: only the test that creates the object uses it.
    private final class Kept: @unchecked Sendable {
        var decoders: [any Decoder] = []
        var containers: [KeyedDecodingContainer<JSONKey>] = []
    }

    private struct Keeping: Decodable {
        @TaskLocal static var kept: Kept?

        init(from decoder: any Decoder) throws {
            Self.kept?.decoders.append(decoder)
            Self.kept?.containers.append(try decoder.container(keyedBy: JSONKey.self))
        }
    }

    @Test("stored decoders and containers work after the end, and nothing else is retained")
    func kept() throws {
        weak var decoding: JSONDecoding?
        try {
            let kept = Kept()
            try Keeping.$kept.withValue(kept) { _ = try decode([Keeping].self, #"[{"a":1},{"a":2},{"a":3}]"#) }
            #expect(try kept.containers.map { try $0.decode(Int.self, forKey: JSONKey("a")) } == [1, 2, 3])
            for (index, decoder) in kept.decoders.enumerated() {
                let container = try decoder.container(keyedBy: JSONKey.self)
                #expect(try container.decode(Int.self, forKey: JSONKey("a")) == index + 1)
                #expect(container.codingPath.map(\.intValue) == [index])
            }
            decoding = (kept.decoders[0] as? JSONTapeDecoder)?.decoding
            #expect(decoding != nil)
        }()
        #expect(decoding == nil)
    }

    @Test("a keyed container is one reference, as required for its reuse")
    func containerLayout() throws {
        #expect(MemoryLayout<KeyedDecodingContainer<JSONKey>>.size == MemoryLayout<AnyObject>.size)
        let decoding = JSONDecoding(
            try JSONTape(Array("{}".utf8), options: .anyValue), coding: JSONCoding(), reusesContainers: true)
        // The container is reused, because no reference to it is left.
        let first = try reference(JSONTapeDecoder(decoding, JSONTape.root, in: 0).container(keyedBy: JSONKey.self))
        let again = try reference(JSONTapeDecoder(decoding, JSONTape.root, in: 0).container(keyedBy: JSONKey.self))
        #expect(first == again)
    }

    @Test("values are equal with reused and with new containers", arguments: [true, false])
    func reuse(_ reusesContainers: Bool) throws {
        struct Bird: Decodable, Equatable {
            var name: String
            var young: [Bird]?
        }
        let text = #"[{"name":"a","young":[{"name":"b"},{"name":"c","young":[]}]},{"name":"d"}]"#
        let birds = try JSONDecoding.decode(
            [Bird].self, from: JSONTape(Array(text.utf8), options: .anyValue), coding: JSONCoding(),
            reusesContainers: reusesContainers)
        #expect(
            birds == [
                Bird(name: "a", young: [Bird(name: "b"), Bird(name: "c", young: [])]), Bird(name: "d"),
            ])
    }

    /// The reference inside a container, determined in two ways.
    private func reference(_ container: KeyedDecodingContainer<JSONKey>) throws -> ObjectIdentifier {
        let box = try #require(Mirror(reflecting: container).children.first)
        let identifier = ObjectIdentifier(box.value as AnyObject)
        #expect(ObjectIdentifier(unsafeBitCast(container, to: AnyObject.self)) == identifier)
        return identifier
    }

    @Test("a decoder has the user information and its path")
    func userInfo() throws {
        struct Asked: Decodable {
            init(from decoder: any Decoder) throws {
                #expect(decoder.userInfo[CodingUserInfoKey(rawValue: "k")!] as? Int == 7)
                #expect(decoder.codingPath.map(\.stringValue) == ["a", "1"])
            }
        }
        let value: JSONValue = ["a": [nil, true]]
        _ = try value.decode(as: [String: [Asked?]].self, userInfo: [CodingUserInfoKey(rawValue: "k")!: 7])
    }

    @Test("snake case converts names once, and keeps those of dictionaries")
    func snakeCase() throws {
        struct Model: Decodable, Equatable {
            var userURL: Int
            var tableOfNames: [String: Int]
            var numbered: [Int: String]
        }
        let text =
            #"[{"user_url":1,"table_of_names":{"aB":1,"a_b":2},"numbered":{"1":"x"}},"#
            + #"{"numbered":{"2":"y"},"user_url":2,"table_of_names":{}}]"#
        #expect(
            try decode([Model].self, text, JSONCoding(keys: .snakeCase)) == [
                Model(userURL: 1, tableOfNames: ["aB": 1, "a_b": 2], numbered: [1: "x"]),
                Model(userURL: 2, tableOfNames: [:], numbered: [2: "y"]),
            ])
    }

    @Test(
        "snake case keeps names of trees, restores acronyms, and reads names in other styles unchanged"
    )
    func namesOfTrees() throws {
        let coding = JSONCoding(keys: .snakeCase)
        struct Model: Codable, Equatable {
            var someTree: JSONValue
            var someObject: JSONValue.Object
        }
        let names: JSONValue.Object = ["userName": 1, "user_name": 2, "FOO": ["aB": 3], "Content-Type": nil]
        let model = Model(someTree: .object(names), someObject: names)
        let text = try coding.encode(model)
        #expect(
            String(decoding: text, as: UTF8.self).hasPrefix(#"{"some_tree":{"userName":1,"user_name":2,"FOO":{"aB":3}"#)
        )
        #expect(try coding.decode(Model.self, from: text) == model)
        #expect(try coding.decode(JSONValue.Object.self, from: JSONValue.object(names).jsonBytes()) == names)

        enum Link: Codable, Equatable { case userURL(String), baseURL(id: Int) }
        for link in [Link.userURL("x"), .baseURL(id: 7)] {
            #expect(try coding.decode(Link.self, from: coding.encode(link)) == link)
        }

        struct Dynamic: Decodable {
            var found: [String: Int] = [:]

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: JSONKey.self)
                for key in container.allKeys { found[key.stringValue] = try container.decode(Int.self, forKey: key) }
            }
        }
        #expect(
            try decode(Dynamic.self, #"{"FOO":1,"userName":2,"User-Name":3,"a_b":4}"#, coding).found == [
                "FOO": 1, "userName": 2, "User-Name": 3, "aB": 4,
            ])
    }

    @Test("a value that no JSON text may contain is an error")
    func unreadableTrees() throws {
        let deep = (0..<600).reduce(JSONValue.null) { value, _ in [value] }
        #expect(throws: JSONCoding.Failure.self) { try deep.decode(as: [JSONValue].self) }
        let marks = String(repeating: "\u{301}", count: JSONCoding.ReadingOptions.combiningMarkLimit + 1)
        let named = JSONValue.object(["a\(marks)": 1])
        #expect(throws: JSONCoding.Failure.self) { try named.decode(as: [String: Int].self) }
    }
}
