import CurlewJSON
import FoundationEssentials
import Testing

@Suite("Parameter values")
struct ParameterValueTests {
    @Test("literals of every kind create parameter values")
    func literals() {
        let name = "Numenius"
        let value: ParameterValue = [
            "null": nil, "yes": true, "int": 1, "double": 1.5, "text": "\(name) arquata", "list": [1, [2]], "none": [:],
        ]
        #expect(value["null"] == .null)
        #expect(value["yes"] == .boolean(true))
        #expect(value["int"] == ParameterValue(1))
        #expect(value["double"] == ParameterValue(1.5))
        #expect(value["text"] == .string("Numenius arquata"))
        #expect(value["list"]?[1]?[0] == 2)
        #expect(value["none"] == .dictionary(ParameterValue.Object()))
        #expect(value["absent"] == nil)
        #expect(value[0] == nil)
        #expect(value["list"]?[2] == nil)
        #expect(value["list"]?[-1] == nil)
    }

    @Test("a dictionary keeps its order and has each key once")
    func order() {
        var dictionary: ParameterValue.Object = ["b": 1, "a": 2, "b": 3]
        #expect(dictionary.keys == ["b", "a"])
        #expect(dictionary["b"] == 3)
        dictionary["c"] = 4
        dictionary["b"] = nil
        dictionary["zz"] = nil
        #expect(dictionary.map(\.key) == ["a", "c"])
        #expect(dictionary != ["c": 4, "a": 2])
        #expect(dictionary == ["a": 2, "c": 4])
        #expect(Set([dictionary, ["a": 2, "c": 4]]).count == 1)
    }

    @Test("a large dictionary finds, replaces and removes like a small one")
    func large() {
        var dictionary = ParameterValue.Object()
        for index in 0..<100 { dictionary["k\(index)"] = ParameterValue(index) }
        for index in stride(from: 0, to: 100, by: 2) { dictionary["k\(index)"] = nil }
        for index in 0..<100 {
            let expected: ParameterValue? = index % 2 == 0 ? .none : ParameterValue(index)
            #expect(dictionary["k\(index)"] == expected)
        }
        dictionary["k1"] = "new"
        dictionary["k0"] = "again"
        #expect(dictionary.count == 51)
        #expect(dictionary.first?.value == "new")
        #expect(dictionary.last?.key == "k0")
    }

    @Test("a subscript builds a dictionary")
    func building() {
        var value: ParameterValue = nil
        value["a"] = 1
        value["b"] = ["x": 1]
        value["b"]?["y"] = 2
        #expect(value == ["a": 1, "b": ["x": 1, "y": 2]])
        value["a"] = .none
        #expect(value == ["b": ["x": 1, "y": 2]])
        var text: ParameterValue = "text"
        text["a"] = .none
        #expect(text == "text")
    }

    @Test(
        "numbers are written exactly",
        arguments: [
            (ParameterValue.Number(0), "0"), (ParameterValue.Number(Int64.min), "-9223372036854775808"),
            (ParameterValue.Number(UInt64.max), "18446744073709551615"),
            (ParameterValue.Number(UInt128.max), "340282366920938463463374607431768211455"),
            (ParameterValue.Number(0.1), "0.1"), (ParameterValue.Number(-0.0), "-0"),
            (ParameterValue.Number(1e15), "1000000000000000"),
            (ParameterValue.Number(1e16), "1e+16"), (ParameterValue.Number(1e-5), "1e-05"),
            (ParameterValue.Number(1.0 / 3), "0.3333333333333333"),
            (ParameterValue.Number(Double.leastNonzeroMagnitude), "5e-324"), (ParameterValue.Number(Float(0.1)), "0.1"),
        ])
    func numbers(_ number: ParameterValue.Number, _ text: String) {
        #expect(number.description == text)
    }

    @Test(
        "digits are kept unchanged if they are a number",
        arguments: [
            "0", "-0", "1", "-12.50", "1e400", "1E-7", "0.1e+1", "123456789012345678901234567890.000000000000000000001",
        ])
    func decimals(_ digits: String) {
        #expect(ParameterValue.Number(decimal: digits)?.description == digits)
    }

    @Test(
        "a text that is not a JSON number creates no number",
        arguments: [
            "", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "1 ", " 1", "nan", "1,5", "1_0", "--1", "\u{661}",
        ])
    func noDecimals(_ digits: String) {
        #expect(ParameterValue.Number(decimal: digits) == nil)
    }

    @Test("equal integers are equal, whatever type they come from")
    func equality() {
        #expect(ParameterValue(UInt8(5)) == ParameterValue(Int64(5)))
        #expect(ParameterValue.Number(UInt64(1)) == ParameterValue.Number(1))
        #expect(ParameterValue.Number(1.0) != ParameterValue.Number(1))
        #expect(Set<ParameterValue>([1, 1, "1"]).count == 2)
    }

    @Test("the time to sort nested sets does not grow with their depth", .timeLimit(.minutes(1)))
    func nestedSets() throws {
        var tree: ParameterValue = "leaf"
        for level in 0..<100 { tree = .set([tree, .string("level-\(level)")]) }
        let json = try tree.json()
        #expect(try JSONValue(parsing: json).arrayValue?.count == 2)
    }

    @Test("nested sets are sorted by their sorted members")
    func orderOfNestedSets() throws {
        let inner: [ParameterValue] = [.set(["d", "b"]), .set(["c", "a"]), .array(["a", .set([2, 1])])]
        let json = try ParameterValue.set(Set(inner)).json()
        #expect(String(decoding: json, as: UTF8.self) == #"[["a","c"],["a",[1,2]],["b","d"]]"#)
    }
}
