import Foundation
import Testing

@testable import CurlewJSON

@Suite("Direct JSON encoding")
struct JSONEncodingTests {
    struct Bird: Encodable {
        enum Sex: String, Encodable { case female, male }

        struct Ring: Encodable {
            var letters = "A\"7/\\"
            var isRead = true
        }

        var latinName = "Numenius arquata"
        var eggCount = 4
        var billInches: Float = 6.1
        var weight = 0.96
        var sex = Sex.female
        var ring: Ring? = Ring()
        var mate: String?
        var rings = [Ring(), Ring(letters: "Ä\u{1F}", isRead: false)]
        var countsByYear = [2024: 3]
        var placesByName = ["theMarsh": ["a": [1.5]]]
        var photo = Data([0, 255, 254])
        var seenAt = Date(timeIntervalSince1970: 86_400.5)
        var page = URL(string: "https://birds.test/n/a?x=1")
        var identity = UUID(uuidString: "11111111-2222-3333-4444-555555555555")
        var price = Decimal(string: "12.30000000000000000001")
        var tags: Set<String> = ["wader", "large"]
    }

    enum Event: Encodable {
        case began
        case ended(atPlace: String, Int)
    }

    static let values: [(name: String, value: any Encodable & Sendable)] = [
        ("a structure", Bird()),
        ("a list of structures", [Bird(), Bird(mate: "x")]),
        ("an empty list", [Int]()),
        ("an empty dictionary", [String: Int]()),
        ("a structure without members", [JSONEncodingTests.Empty()]),
        ("a value that encodes nothing", ["k": EncodedBy { _ in }]),
        ("enumerations with values", [Event.began, .ended(atPlace: "Marsh", 3)]),
        ("optionals", [1, nil, 3]),
        ("optionals in optionals", [["a": .some(.some(1)), "b": .some(nil), "c": nil]] as [[String: Int??]]),
        ("optional structures", [Bird.Ring(), nil]),
        ("lists in lists", [[[1], []], [[2, 3]]]),
        (
            "integers",
            [Int.min, -10, -9, -1, 0, 9, 10, 99, 100, 99_999_999, 100_000_000, 9_999_999_999_999_999, Int.max]
        ),
        ("unsigned integers", [UInt64.max, 0, 10_000_000_000_000_000, 1 << 63]),
        ("integers of eight bits", [Int8.min, -1, 0, 127]),
        ("bytes", [UInt8(0), 9, 10, 255]),
        ("integers of sixteen bits", [Int16.min, .max]),
        ("unsigned integers of sixteen bits", [UInt16.max]),
        ("integers of 32 bits", [Int32.min, .max]),
        ("unsigned integers of 32 bits", [UInt32.max]),
        ("integers of 64 bits", [Int64.min, .max]),
        ("unsigned integers of a word", [UInt.max]),
        ("integers of 128 bits", [Int128.min, -1, .max]),
        ("unsigned integers of 128 bits", [UInt128.max, 0]),
        ("numbers of single precision", [Float(1.1), 1, -0.0, 1e20, 1e-7, .greatestFiniteMagnitude, 16_777_216]),
        ("truth values", [true, false]),
        (
            "dates",
            [
                Date(timeIntervalSince1970: 0.25), Date(timeIntervalSince1970: -62_135_596_800),
                Date(timeIntervalSince1970: -1),
            ]
        ),
        ("data", [Data(), Data("any carnal pleas".utf8)]),
        ("addresses", [URL(string: "https://a.test/b")]),
        ("decimals", [Decimal(string: "0.1"), Decimal(string: "-1e40"), 0]),
        ("sets", [Set([3, 1, 2]), []]),
        ("sets of structures with sets in them", [Set([Set(["b", "a"]), ["c"]])]),
        ("optional sets", [Set([3, 1]), nil]),
        (
            "a tree of parameters",
            ["k": ["a": [1, 2.5, nil, true], "b": .date(Date(timeIntervalSince1970: 0))]] as ParameterValue
        ),
        ("trees of parameters in a list", [.set(["b", "a"]), .data([1]), .dictionary([:])] as [ParameterValue]),
        (
            "a JSON value",
            ["z": [1, 2.5, "x", nil, true, .number(JSONValue.Number(UInt64.max))], "a": ["y": [:]]] as JSONValue
        ),
        (
            "text",
            ["", "a", "\"", "/", "\\", "\u{7F}\u{80}", "é", "e\u{301}", "\u{2028}", "𝄞", "\0\u{8}\t\n\u{C}\r\u{1F} "]
        ),
        ("a contiguous array", ContiguousArray(["a", "b"])),
        ("a range", 1..<5),
        ("a dictionary with keys that are no strings", [1.5: "x"]),
        ("a dictionary with values of one's own", ["a": Bird.Ring(), "b": Bird.Ring()]),
        ("a string alone", "x/y"),
        ("a number alone", 5),
        ("null alone", Int?.none),
        ("a date alone", Date(timeIntervalSince1970: 0)),
        ("an optional with nothing in it", EncodedBy?.some(EncodedBy { _ in })),
    ]

    struct Empty: Encodable {}

    @Test("values of every type are written directly, with the bytes of the tree", arguments: values.map(\.name))
    func equal(_ name: String) throws {
        let value = try #require(Self.values.first { $0.name == name }?.value)
        for options in [[.fragmentsAllowed], [.fragmentsAllowed, .withoutEscapingSlashes]] as [JSONCoding.Style.Options]
        {
            for keys in [ParameterEncoder.KeyNaming.asWritten, .snakeCase, .custom { $0.uppercased() + "é" }] {
                let ways = BothWays(options: options, keys: keys)
                #expect(ways.atOnce(value) == (try ways.byTree(value)))
            }
        }
    }

    @Test("text is escaped at every position and length")
    func escapes() throws {
        let ways = BothWays()
        for escaped in ["\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "é", "\u{7F}", " ", "𝄞"] {
            for length in 0..<40 {
                for place in 0...length {
                    let head = String("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst".prefix(place))
                    let text = head + escaped + String(repeating: "x", count: length - place)
                    #expect(try ways.atOnce([text: text]) == ways.byTree([text: text]))
                    let key = EncodedBy { encoder in
                        var container = encoder.container(keyedBy: AnyKey.self)
                        try container.encode(1, forKey: AnyKey(text))
                    }
                    #expect(try ways.atOnce(key) == ways.byTree(key))
                }
            }
        }
    }

    @Test("doubles are written with the digits of their description, whole numbers without a point")
    func doubles() throws {
        var doubles = [
            0, -0.0, 1, -1, 0.1, 0.001, 0.0001, 0.00001, 0.0005, 0.0009999, 1.005, 4.35, 0.3, 0.1 + 0.2, 2.675, 1.1,
            999_999_999_999.999, 999_999_999_999, 1e12, 1e15, 1e16, 123_456_789_012.345, 9_007_199_254_740_992, 1e22,
            1e300,
            .leastNonzeroMagnitude, 1 / 3, .pi, .leastNormalMagnitude, .greatestFiniteMagnitude,
        ]
        var state: UInt64 = 0x1234_5678_9ABC_DEF1
        for index in 0..<100_000 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let thousandths = Double(Int64(bitPattern: state) >> 20) / 1000
            doubles += [
                Double(bitPattern: state), thousandths,
                index.isMultiple(of: 2) ? thousandths.nextUp : -thousandths.nextDown,
            ]
        }
        var output = JSONOutput(capacity: 1)
        defer { output.deallocate() }
        var written = 0
        for double in doubles where double.isFinite {
            output.append(double)
            let text = String(decoding: output.bytes[written...], as: UTF8.self)
            written = output.count
            try #require(text == ParameterValue.Number(double).description)
            if written > 1 << 12 {
                output.deallocate()
                output = JSONOutput(capacity: 1)
                written = 0
            }
        }
    }

    @Test("integers are written with the digits of their description")
    func integers() throws {
        var output = JSONOutput(capacity: 1)
        defer { output.deallocate() }
        var expected = ""
        var power: UInt64 = 1
        while true {
            for value in [power - 1, power, power + 1, power &* 9, power &+ power / 7] {
                output.append(value)
                output.append(Int64(bitPattern: value))
                expected += "\(value)\(Int64(bitPattern: value))"
            }
            if power > .max / 10 { break }
            power *= 10
        }
        #expect(String(decoding: output.bytes, as: UTF8.self) == expected)
    }

    @Test("dates, data and numbers that are not finite follow the style")
    func styles() throws {
        let dates: [ParameterValue.DateStyle] = [
            .description, .iso8601, .iso8601WithMilliseconds, .secondsSince1970, .millisecondsSince1970,
            .custom { .string("/\($0.timeIntervalSince1970)") }, .custom { _ in .null },
            .custom { ParameterValue($0.timeIntervalSinceReferenceDate) },
        ]
        for style in dates {
            var ways = BothWays()
            ways.style.dates = style
            let value = [Date(timeIntervalSince1970: 1.5), Date(timeIntervalSince1970: 253_402_300_799)]
            #expect(ways.atOnce(value) == (try ways.byTree(value)))
        }
        for style in [.base64, .base64URL, .hexadecimal, .custom { "\"\($0.count)" }]
            as [ParameterValue.DataStyle]
        {
            var ways = BothWays()
            ways.style.data = style
            #expect(ways.atOnce([Data([251, 255])]) == (try ways.byTree([Data([251, 255])])))
        }
        var ways = BothWays()
        ways.style.nonFinite = .text(positiveInfinity: "\"+", notANumber: "")
        #expect(ways.atOnce([1, Double.infinity, -.infinity, .nan]) == #"[1,"\"+","-inf",""]"#)
        #expect(ways.atOnce([Float.infinity, .nan, -.infinity]) == #"["\"+","","-inf"]"#)
        #expect(ways.atOnce(["k": Decimal.nan]) == #"{"k":""}"#)
    }

    @Test("keys keep the order in which they are encoded")
    func order() throws {
        let keys = (0..<40).map { "k\($0 * 7 % 40)" }
        let value = EncodedBy { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            for key in keys { try container.encode(1, forKey: AnyKey(key)) }
        }
        #expect(BothWays().atOnce(value) == "{" + keys.map { "\"\($0)\":1" }.joined(separator: ",") + "}")
    }

    @Test("a coding writes directly the same text as through the tree")
    func entries() throws {
        let coding = JSONCoding(keys: .snakeCase, dates: .secondsSince2001, data: .base64URL)
        let bird = Bird(countsByYear: [:], tags: [])
        let text = String(decoding: try coding.encode(bird), as: UTF8.self)
        #expect(text.hasPrefix(#"{"latin_name":"Numenius arquata","egg_count":4,"bill_inches":6.1,"weight":0.96,"#))
        #expect(text.contains(#""seen_at":-978220799.5"#) && text.contains(#""photo":"AP_-""#))
    }
}
