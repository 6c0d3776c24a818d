import Curlew
import FoundationEssentials
import Testing

@Suite("Form parameters as in AFNetworking")
struct FormTests {
    private func form(_ parameters: ParameterValue, _ adjust: (inout RequestParameters.Style) -> Void = { _ in }) throws
        -> String
    {
        var style = RequestParameters.Style()
        adjust(&style)
        return try style.form(parameters)
    }

    static let defaults: [(ParameterValue, String)] = [
        (["foo": "bar", "baz": 7], "baz=7&foo=bar"),
        (["b": 1, "a": 2, "B": 3, "10": 4, "9": 5, "é": 6], "10=4&9=5&B=3&a=2&b=1&%C3%A9=6"),
        (["baz": [1, 2]], "baz%5B%5D=1&baz%5B%5D=2"),
        (["user": ["name": "x", "age": 3]], "user%5Bage%5D=3&user%5Bname%5D=x"),
        (
            ["a": ["c": ["e": 1], "b": ["d": [2, 3]]]],
            "a%5Bb%5D%5Bd%5D%5B%5D=2&a%5Bb%5D%5Bd%5D%5B%5D=3&a%5Bc%5D%5Be%5D=1"
        ),
        (["l": [["b": 1, "a": 2], ["a": 3]]], "l%5B%5D%5Ba%5D=2&l%5B%5D%5Bb%5D=1&l%5B%5D%5Ba%5D=3"),
        (["l": [[1, 2], [3]]], "l%5B%5D%5B%5D=1&l%5B%5D%5B%5D=2&l%5B%5D%5B%5D=3"),
        (["k": .set(["b", "a", "c"])], "k=a&k=b&k=c"),
        (["k": .set([10, 9, "1"])], "k=1&k=10&k=9"),
        (["k": .set([["x": 1], ["x": 0]])], "k%5Bx%5D=0&k%5Bx%5D=1"),
        (["n": nil, "m": [nil, 1]], "m%5B%5D&m%5B%5D=1&n"),
        (["t": true, "f": false], "f=0&t=1"),
        (["i": -5, "d": 0.5, "w": 5.0, "big": 1e20], "big=1e%2B20&d=0.5&i=-5&w=5"),
        (
            ["u": ParameterValue(UInt64.max), "l": ParameterValue(Int64.min)],
            "l=-9223372036854775808&u=18446744073709551615"
        ),
        (["f": ParameterValue(Float(1.1))], "f=1.1"),
        (["d": .date(Date(timeIntervalSinceReferenceDate: 0))], "d=2001-01-01%2000%3A00%3A00%20%2B0000"),
        (["d": .data([0xFB, 0xFF])], "d=%2B%2F8%3D".replacing("%2F", with: "/")),
        (["a": [], "d": [:], "s": .set([])], ""),
        ([:], ""),
        (["": "x"], "=x"),
        (["": nil, "a": 1], "&a=1"),
        (["a": ["": 1]], "a%5B%5D=1"),
        (["e": ""], "e="),
        (["a&b": "c=d"], "a%26b=c%3Dd"),
    ]

    @Test("parameters are written as a form in AFNetworking's style by default, byte for byte", arguments: defaults)
    func byteForByte(_ parameters: ParameterValue, _ expected: String) throws {
        #expect(try form(parameters) == expected)
    }

    @Test("every ASCII character except letters, digits and -._~/? is escaped, in names and in values")
    func everyByte() throws {
        let kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?"
        for value in UInt8.min...0x7F {
            let character = String(UnicodeScalar(value))
            let hexadecimal = String(value, radix: 16, uppercase: true)
            let escaped = kept.contains(character) ? character : "%" + (value < 16 ? "0" : "") + hexadecimal
            #expect(try form([character: .string(character)]) == "\(escaped)=\(escaped)")
        }
    }

    @Test("text of every Unicode plane is escaped as UTF-8")
    func everyPlane() throws {
        for scalar in [
            "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFD}", "\u{FFFF}", "\u{10000}", "\u{1F469}\u{200D}\u{1F680}",
        ] {
            let escaped = scalar.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
            #expect(try form([scalar: .string(scalar)]) == "\(escaped)=\(escaped)")
        }
        let long = String(repeating: "e\u{301}", count: 200)
        #expect(try form(["k": .string(long)]) == "k=" + String(repeating: "e%CC%81", count: 200))
    }

    @Test(
        "each style of arrays writes indices, repeated names or brackets",
        arguments: [
            (RequestParameters.Style.ArrayStyle.indexed, "l[0]=1&l[1]=2&m[0][0]=3&m[1][a]=4&m[1][b][0]=5"),
            (.repeated, "l=1&l=2&m=3&m[a]=4&m[b]=5"),
            (.brackets, "l[]=1&l[]=2&m[][]=3&m[][a]=4&m[][b][]=5"),
        ])
    func arrays(_ style: RequestParameters.Style.ArrayStyle, _ expected: String) throws {
        let parameters: ParameterValue = ["l": [1, 2], "m": [[3], ["a": 4, "b": [5]]]]
        let written = try form(parameters) { $0.arrays = style }
        #expect(written.replacing("%5B", with: "[").replacing("%5D", with: "]") == expected)
    }

    @Test("the comma style escapes commas inside members, and refuses nested arrays and dictionaries")
    func commas() throws {
        let written = try form(["k": ["a,b", 1, nil, true], "e": []]) { $0.arrays = .commas }
        #expect(written == "k=a%2Cb,1,,1")
        #expect(try form(["k": [nil, 1, nil]]) { ($0.arrays, $0.nulls) = (.commas, .dropped) } == "k=1")
        #expect(try form(["k": [nil]]) { ($0.arrays, $0.nulls) = (.commas, .dropped) }.isEmpty)
        for tree: ParameterValue in [["a": 1], [1], .set([1])] {
            let error = #expect(throws: CurlewError.self) {
                try form(["k": ["l": [1, tree]]]) { $0.arrays = .commas }
            }
            #expect(error?.code == .encodingFailed)
            #expect(error?.message.contains("k.l[1]") == true)
        }
    }

    @Test("Booleans, key order, nesting, nulls, spaces and data are written in the chosen style")
    func others() throws {
        #expect(try form(["t": true, "f": [false]]) { $0.booleans = .literal } == "f%5B%5D=false&t=true")
        #expect(try form(["b": 1, "a": ["z": 1, "y": 2]]) { $0.keyOrder = .insertion } == "b=1&a%5Bz%5D=1&a%5By%5D=2")
        #expect(try form(["a": ["b": ["c": 1]]]) { $0.nesting = .dots } == "a.b.c=1")
        #expect(try form(["a": nil, "b": 1]) { $0.nulls = .empty } == "a=&b=1")
        #expect(try form(["a": nil, "b": 1]) { $0.nulls = .dropped } == "b=1")
        #expect(try form(["a b": "c d+e"]) { $0.spaces = .plus } == "a+b=c+d%2Be")
        let data: ParameterValue = ["d": .data([0xFB, 0xFF, 0x01, 0x0A])]
        #expect(try form(data) { $0.data = .base64URL } == "d=-_8BCg")
        #expect(try form(data) { $0.data = .hexadecimal } == "d=fbff010a")
        #expect(try form(data) { $0.data = .custom { "\($0.count)" } } == "d=4")
    }

    @Test(
        "dates are written in the chosen style",
        arguments: [
            (RequestParameters.Style.DateStyle.description, 1.75, "1970-01-01 00:00:01 +0000"),
            (.description, -0.5, "1969-12-31 23:59:59 +0000"),
            (.iso8601, 951_827_696, "2000-02-29T12:34:56Z"),
            (.iso8601, -2_208_988_800, "1900-01-01T00:00:00Z"),
            (.iso8601, -62_135_596_800, "0001-01-01T00:00:00Z"),
            (.iso8601, 253_402_300_799, "9999-12-31T23:59:59Z"),
            (.iso8601WithMilliseconds, 0.001, "1970-01-01T00:00:00.001Z"),
            (.iso8601WithMilliseconds, -0.001, "1969-12-31T23:59:59.999Z"),
            (.secondsSince1970, 0.1, "0.1"),
            (.secondsSince1970, -1, "-1"),
            (.millisecondsSince1970, 1_700_000_000.123, "1700000000123"),
            (.custom { .string("at \($0.timeIntervalSince1970)") }, 5, "at 5.0"),
        ])
    func dates(_ style: RequestParameters.Style.DateStyle, _ seconds: Double, _ expected: String) throws {
        var written = RequestParameters.Style()
        written.dates = style
        let pair = RequestParameters.Style.Pair("d", .date(Date(timeIntervalSince1970: seconds)))
        #expect(try written.text(of: pair) == expected)
    }

    @Test(
        "a date that its style cannot represent is an error",
        arguments: [
            Double.nan, .infinity, 253_402_300_800, -62_135_596_801,
        ])
    func badDates(_ seconds: Double) {
        let date = ParameterValue(Date(timeIntervalSince1970: seconds))
        #expect(throws: CurlewError.self) { try form(["d": date]) }
    }

    @Test("a custom date style must return a single value, and an error that it throws is kept")
    func customDates() {
        struct Reason: Error {}
        let date = ParameterValue(Date(timeIntervalSince1970: 0))
        let tree = #expect(throws: CurlewError.self) {
            try form(["when": date]) { $0.dates = .custom { .date($0) } }
        }
        #expect(tree?.message.contains("when") == true)
        let thrown = #expect(throws: CurlewError.self) {
            try form(["when": date]) { $0.dates = .custom { _ in throw Reason() } }
        }
        #expect(thrown?.underlying is Reason)
    }

    @Test(
        "numbers that are not finite are refused, or written as the style defines",
        arguments: [
            (Double.nan, "nan"), (.infinity, "inf"), (-.infinity, "-inf"),
        ])
    func notFinite(_ number: Double, _ text: String) throws {
        let parameters: ParameterValue = ["a": ["b": [1, ParameterValue(number)]]]
        let error = #expect(throws: CurlewError.self) { try form(parameters) }
        #expect(error?.code == .encodingFailed)
        #expect(error?.message.contains("a.b[1]") == true)
        #expect(try form(["k": ParameterValue(number)]) { $0.nonFinite = .text() } == "k=\(text)")
        #expect(try form(["k": ParameterValue(Float(number))]) { $0.nonFinite = .text() } == "k=\(text)")
    }

    @Test(
        "top-level parameters that are not a dictionary are an error in a form",
        arguments: [
            "text", [1, 2], nil, true, 5, .set(["a"]), .data([1]),
        ] as [ParameterValue])
    func noDictionary(_ parameters: ParameterValue) {
        let error = #expect(throws: CurlewError.self) { try form(parameters) }
        #expect(error?.code == .encodingFailed)
    }

    @Test("a form is refused if its parameters are nested deeper than 128 levels", arguments: [128, 129, 5000])
    func depth(_ levels: Int) throws {
        for wrap: (ParameterValue) -> ParameterValue in [{ ["k": $0] }, { [$0] }, { .set([$0]) }] {
            var value: ParameterValue = 1
            for _ in 1..<levels { value = wrap(value) }
            let parameters: ParameterValue = ["k": value]
            if levels <= ParameterValue.depthLimit {
                #expect(try form(parameters).hasSuffix("=1"))
            } else {
                let error = #expect(throws: CurlewError.self) { try form(parameters) }
                #expect(error?.code == .encodingFailed)
                #expect(error?.message.utf8.count ?? 1000 < 400)
            }
        }
    }

    @Test("arrays and dictionaries may be as large as memory")
    func large() throws {
        let numbers = (0..<200_000).map { ParameterValue($0) }
        let written = try form(["k": .array(numbers)])
        #expect(written.utf8.count(where: { $0 == UInt8(ascii: "&") }) == 199_999)
        #expect(written.hasSuffix("k%5B%5D=199999"))
        var dictionary = ParameterValue.Object()
        for index in (0..<100_000).reversed() { dictionary["key\(index)"] = ParameterValue(index) }
        #expect(try form(.dictionary(dictionary)).hasPrefix("key0=0&key1=1&key10=10&"))
    }

    @Test("pairs have unescaped names, and values that keep their kind")
    func pairs() throws {
        let parameters: ParameterValue = ["b": [.data([1])], "a": ["x y": nil], "c": .set([2, 1])]
        let pairs = try RequestParameters.Style().pairs(of: parameters)
        #expect(
            pairs == [
                RequestParameters.Style.Pair("a[x y]", nil), RequestParameters.Style.Pair("b[]", .data([1])),
                RequestParameters.Style.Pair("c", 1),
                RequestParameters.Style.Pair("c", 2),
            ])
        var style = RequestParameters.Style()
        style.arrays = .commas
        #expect(try style.pairs(of: ["l": [1, "a,b"]]) == [RequestParameters.Style.Pair("l", "1,a,b")])
    }
}
