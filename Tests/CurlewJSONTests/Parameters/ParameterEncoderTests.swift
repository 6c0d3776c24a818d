import CurlewJSON
import FoundationEssentials
import Testing

@Suite("Encodable values as parameters")
struct ParameterEncoderTests {
    private func encode(_ value: some Encodable) throws -> ParameterValue { try ParameterEncoder().encode(value) }

    struct Everything: Encodable {
        var text = "t"
        var yes = true
        var int8 = Int8.min, uint8 = UInt8.max, int16 = Int16.min, uint16 = UInt16.max
        var int32 = Int32.min, uint32 = UInt32.max, int64 = Int64.min, uint64 = UInt64.max
        var int128 = Int128.min, uint128 = UInt128.max, int = -1, uint: UInt = 1
        var float: Float = 0.1, double = 0.1
        var absent: Int?
        var date = Date(timeIntervalSince1970: 5), data = Data([1, 2])
        var url = URL(string: "https://example.com/a?b")
        var decimal = Decimal(string: "12345678901234567890.0123456789")
        var uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        var list = [1, 2], optionals = [1, nil], names = ["z": 1], numbers = [7: true]
        var set: Set<String> = ["a", "b"]
        var tree: ParameterValue = ["k": [1]]
        var choice = Choice.first
        enum Choice: String, Encodable { case first }
    }

    @Test("values of every kind are encoded in their order")
    func everything() throws {
        let value = try encode(Everything())
        guard case .dictionary(let dictionary) = value else { return #expect(Bool(false)) }
        #expect(dictionary.keys.prefix(4) == ["text", "yes", "int8", "uint8"])
        #expect(dictionary["int8"] == -128)
        #expect(dictionary["uint64"] == ParameterValue(UInt64.max))
        #expect(dictionary["int64"] == ParameterValue(Int64.min))
        #expect(dictionary["int128"] == ParameterValue(Int128.min))
        #expect(dictionary["uint128"] == ParameterValue(UInt128.max))
        #expect(dictionary["float"] == ParameterValue(Float(0.1)))
        #expect(dictionary["double"] == 0.1)
        #expect(dictionary["absent"] == nil)
        #expect(dictionary["date"] == .date(Date(timeIntervalSince1970: 5)))
        #expect(dictionary["data"] == .data([1, 2]))
        #expect(dictionary["url"] == "https://example.com/a?b")
        #expect(
            dictionary["decimal"]
                == ParameterValue.Number(decimal: "12345678901234567890.0123456789").map { .number($0) })
        #expect(dictionary["uuid"] == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        #expect(dictionary["list"] == [1, 2])
        #expect(dictionary["optionals"] == [1, nil])
        #expect(dictionary["names"] == ["z": 1])
        #expect(dictionary["numbers"] == ["7": true])
        #expect(dictionary["set"] == .set(["a", "b"]))
        #expect(dictionary["tree"] == ["k": [1]])
        #expect(dictionary["choice"] == "first")
    }

    @Test("values other than dictionaries can be encoded at the top")
    func tops() throws {
        #expect(try encode("a") == "a")
        #expect(try encode([1, 2]) == [1, 2])
        #expect(try encode([["a": Data([1])]]) == [["a": .data([1])]])
        #expect(try encode(Int?.none) == .null)
        #expect(try encode(Date(timeIntervalSince1970: 1)) == .date(Date(timeIntervalSince1970: 1)))
        #expect(try encode(Set([1, 2])) == .set([1, 2]))
        #expect(try encode(Decimal.nan) != .null)
    }

    class Animal: Encodable {
        var legs = 2
        init() {}
    }

    final class Bird: Animal {
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode("curlew", forKey: .name)
            try super.encode(to: container.superEncoder())
            try super.encode(to: container.superEncoder(forKey: .parent))
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .nested)
            try nested.encode(1, forKey: .name)
            var again = container.nestedContainer(keyedBy: Key.self, forKey: .nested)
            try again.encode(2, forKey: .parent)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try list.encode(1)
            try list.encodeNil()
            var inner = list.nestedUnkeyedContainer()
            try inner.encode(contentsOf: [true, false])
            var table = list.nestedContainer(keyedBy: Key.self)
            try table.encodeNil(forKey: .name)
            try super.encode(to: list.superEncoder())
            #expect(list.count == 5)
        }

        enum Key: String, CodingKey { case name, parent, nested, list }
    }

    @Test("nested containers and a superclass's encoders are encoded in their places")
    func containers() throws {
        let expected: ParameterValue = [
            "name": "curlew", "super": ["legs": 2], "parent": ["legs": 2], "nested": ["name": 1, "parent": 2],
            "list": [1, nil, [true, false], ["name": nil], ["legs": 2]],
        ]
        #expect(try encode(Bird()) == expected)
    }

    struct Account: Encodable {
        var userName = "a"
        var baseURLText = "b"
        var tags = ["someKey": 1]
        var owner = Owner()
        struct Owner: Encodable { var firstName = "c" }
    }

    @Test("keys of types are renamed if configured, and keys of dictionaries are kept")
    func naming() throws {
        var encoder = ParameterEncoder()
        encoder.keyNaming = .snakeCase
        #expect(
            try encoder.encode(Account())
                == ["user_name": "a", "base_url_text": "b", "tags": ["someKey": 1], "owner": ["first_name": "c"]])
        encoder.keyNaming = .custom { $0.uppercased() }
        #expect(try encoder.encode(Account())["OWNER"] == ["FIRSTNAME": "c"])
        #expect(try encoder.encode(Account())["TAGS"] == ["someKey": 1])
    }

    @Test("a value can read the encoder's user information")
    func userInfo() throws {
        struct Reader: Encodable {
            static let key = CodingUserInfoKey(rawValue: "curlew.test")
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(Self.key.flatMap { encoder.userInfo[$0] as? String })
            }
        }
        var encoder = ParameterEncoder()
        if let key = Reader.key { encoder.userInfo[key] = "seen" }
        #expect(try encoder.encode([Reader()]) == ["seen"])
    }
}
