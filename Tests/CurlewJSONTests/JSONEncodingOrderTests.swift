import Foundation
import Testing

@testable import CurlewJSON

@Suite("JSON encoding through a parameter tree")
struct JSONEncodingOrderTests {
    private struct Refusal: Error {}
    enum Key: String, CodingKey { case a, b, c }

    /// Checks the text of a value in both ways. `isAtOnce` is true if the value is written directly.
    private func check(
        _ isAtOnce: Bool, _ expected: String, keys: ParameterEncoder.KeyNaming = .asWritten,
        _ code: @escaping @Sendable (any Encoder) throws -> Void, line: Int = #line
    ) throws {
        let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
        let ways = BothWays(keys: keys)
        let value = EncodedBy(code)
        #expect(ways.atOnce(value) == (isAtOnce ? expected : nil), sourceLocation: location)
        #expect(try ways.byTree(value) == expected, sourceLocation: location)
        #expect(try ways.text(value) == expected, sourceLocation: location)
    }

    /// Checks that a value is an error in both ways.
    private func checkRefused(_ value: some Encodable, line: Int = #line) {
        let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
        #expect(BothWays().atOnce(value) == nil, sourceLocation: location)
        #expect(throws: JSONCoding.Failure.self, sourceLocation: location) { try BothWays().text(value) }
    }

    @Test("a member that fails under try? leaves no trace")
    func failedMember() throws {
        try check(false, #"{"b":1}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try? container.encode(EncodedBy { _ in throw Refusal() }, forKey: .a)
            try container.encode(1, forKey: .b)
        }
        try check(false, #"{"b":{"c":2}}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            let half = EncodedBy { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                var list = container.nestedUnkeyedContainer(forKey: .b)
                try list.encode([EncodedBy { _ in throw Refusal() }])
            }
            try? container.encode(half, forKey: .a)
            try container.encode(["c": 2], forKey: .b)
        }
        try check(false, #"[3]"#) { encoder in
            var list = encoder.unkeyedContainer()
            try? list.encode(EncodedBy { _ in throw Refusal() })
            try list.encode(3)
            guard list.count == 1 else { throw Refusal() }
        }
    }

    @Test("a key that is written twice has the last value at the first position")
    func twice() throws {
        try check(false, #"{"a":3,"b":2}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            try container.encode(2, forKey: .b)
            try container.encode(3, forKey: .a)
        }
        try check(false, #"{"x":2}"#, keys: .custom { _ in "x" }) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            try container.encode(2, forKey: .b)
        }
        let long = String(repeating: "long", count: 20)
        for names in [
            ["\"", "\""], ["é", "e\u{301}"], ["K", "\u{212A}"], [long + "a", long + "b", long + "a"], ["", ""],
        ] {
            let value = EncodedBy { encoder in
                var container = encoder.container(keyedBy: AnyKey.self)
                for name in names { try container.encode(1, forKey: AnyKey(name)) }
            }
            #expect(BothWays().atOnce(value) == nil, "\(names)")
        }
    }

    @Test("similar but different names are written directly", arguments: [2, 63, 64, 65, 66, 5000])
    func manyNames(_ count: Int) throws {
        func value(_ names: [String]) -> EncodedBy {
            EncodedBy { encoder in
                var container = encoder.container(keyedBy: AnyKey.self)
                for name in names { try container.encode([name: name], forKey: AnyKey(name)) }
            }
        }
        let ways = BothWays()
        let names = (0..<count).map { "a name of some length \($0) with an end" }
        #expect(ways.atOnce(value(names)) == (try ways.byTree(value(names))))
        #expect(ways.atOnce(value(names.map { $0 + "é" })) == (try ways.byTree(value(names.map { $0 + "é" }))))
        for again in [0, count / 2, count - 1] {
            let doubled = value(names + [names[again]])
            #expect(ways.atOnce(doubled) == nil)
            #expect(try ways.text(doubled) == ways.byTree(doubled))
        }
    }

    @Test("nested containers are written directly if each ends before the next begins")
    func nested() throws {
        try check(true, #"{"a":{"b":[1,[],{}]},"b":[],"c":2}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var inner = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            var list = inner.nestedUnkeyedContainer(forKey: .b)
            try list.encode(1)
            _ = list.nestedUnkeyedContainer()
            _ = list.nestedContainer(keyedBy: Key.self)
            _ = container.nestedUnkeyedContainer(forKey: .b)
            try container.encode(2, forKey: .c)
        }
        try check(false, #"{"a":{"a":1,"c":3},"b":2}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var inner = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try inner.encode(1, forKey: .a)
            try container.encode(2, forKey: .b)
            try inner.encode(3, forKey: .c)
        }
        try check(false, #"{"a":{"a":1,"b":2}}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var first = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try first.encode(1, forKey: .a)
            var second = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try second.encode(2, forKey: .b)
        }
    }

    @Test("a container requested twice is the same one, and containers of two kinds are an error")
    func containers() throws {
        try check(true, #"{"a":1,"b":[2]}"#) { encoder in
            var first = encoder.container(keyedBy: Key.self)
            try first.encode(1, forKey: .a)
            var second = encoder.container(keyedBy: AnyKey.self)
            try second.encode([2], forKey: AnyKey("b"))
        }
        checkRefused([
            EncodedBy { encoder in
                _ = encoder.unkeyedContainer()
                _ = encoder.container(keyedBy: Key.self)
            }
        ])
        checkRefused([
            EncodedBy { encoder in
                var single = encoder.singleValueContainer()
                try single.encode(1)
                try single.encode(2)
            }
        ])
        checkRefused(EncodedBy { _ in })
        checkRefused([EncodedBy { _ in throw Refusal() }])
    }

    class Base: Encodable {
        let name = "b"
        private enum CodingKeys: String, CodingKey { case name }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
        }
    }

    final class Derived: Base {
        let asSuper: Bool

        init(asSuper: Bool) { self.asSuper = asSuper }

        override func encode(to encoder: any Encoder) throws {
            if !asSuper { try super.encode(to: encoder) }
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(1, forKey: AnyKey("own"))
            if asSuper { try super.encode(to: container.superEncoder()) }
        }
    }

    @Test("classes encode inherited members beside their own members, or under super")
    func inheritance() throws {
        #expect(BothWays().atOnce([Derived(asSuper: false)]) == #"[{"name":"b","own":1}]"#)
        #expect(BothWays().atOnce([Derived(asSuper: true)]) == #"[{"own":1,"super":{"name":"b"}}]"#)
        try check(true, #"{"a":{},"super":5,"b":[{},[1]]}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            _ = container.superEncoder(forKey: .a)
            try 5.encode(to: container.superEncoder())
            var list = container.nestedUnkeyedContainer(forKey: .b)
            _ = list.superEncoder()
            try [1].encode(to: list.superEncoder())
        }
        try check(false, #"{"super":{"b":2},"a":1}"#) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            let later = container.superEncoder()
            try container.encode(1, forKey: .a)
            var inner = later.container(keyedBy: Key.self)
            try inner.encode(2, forKey: .b)
        }
    }

    /// An object that stores its arguments.
    final class Keeper: @unchecked Sendable {
        var encoder: (any Encoder)?
        var keyed: KeyedEncodingContainer<Key>?
        var list: (any UnkeyedEncodingContainer)?
        var single: (any SingleValueEncodingContainer)?
        init() {}
    }

    @Test("a stored encoder has no effect after its value was encoded")
    func kept() throws {
        let uses: [@Sendable (Keeper) throws -> Void] = [
            { keeper in
                var container = keeper.encoder?.container(keyedBy: Key.self)
                try container?.encode(7, forKey: .c)
            },
            { try $0.keyed?.encode(7, forKey: .c) },
            { try $0.keyed?.encode([7], forKey: .c) },
            { try $0.list?.encode(7) },
            { try $0.single?.encode("x") },
            { _ = $0.keyed?.superEncoder().codingPath.count },
            { _ = $0.list?.nestedContainer(keyedBy: Key.self) },
            { _ = $0.list?.count },
        ]
        for use in uses {
            let value = EncodedBy { encoder in
                let keeper = Keeper()
                var list = encoder.unkeyedContainer()
                try list.encode(
                    EncodedBy { encoder in
                        keeper.encoder = encoder
                        keeper.keyed = encoder.container(keyedBy: Key.self)
                    })
                try list.encode(
                    EncodedBy { encoder in
                        keeper.list = encoder.unkeyedContainer()
                        try keeper.list?.encode(0)
                    })
                try list.encode(EncodedBy { keeper.single = $0.singleValueContainer() })
                try use(keeper)
                try list.encode(9)
            }
            let text = try? BothWays().byTree(value)
            #expect(BothWays().atOnce(value) == nil)
            #expect((try? BothWays().text(value)) == text)
        }
        let keeper = Keeper()
        let value = EncodedBy { encoder in
            keeper.encoder = encoder
            keeper.list = encoder.unkeyedContainer()
            try keeper.list?.encode(1)
        }
        #expect(BothWays().atOnce(value) == "[1]")
        // The encoding has ended, but its memory is still allocated.
        try keeper.list?.encode("more")
        #expect(keeper.encoder?.codingPath.isEmpty == true)
        #expect(keeper.list?.count == 1)
    }

    @Test("a value that writes to its outer container is encoded through the tree")
    func outer() throws {
        try check(false, "[1,{}]") { encoder in
            let keeper = Keeper()
            var list = encoder.unkeyedContainer()
            keeper.list = list
            try list.encode(EncodedBy { _ in try keeper.list?.encode(1) })
        }
    }

    @Test("a value that counts the elements of its list terminates, even if they are not written")
    func counting() throws {
        try check(false, "[{},0,0]") { encoder in
            var list = encoder.unkeyedContainer()
            try list.encode(
                EncodedBy { encoder in
                    var keyed = encoder.container(keyedBy: Key.self)
                    try? keyed.encode(EncodedBy { _ in throw Refusal() }, forKey: .a)
                })
            while list.count < 3 { try list.encode(0) }
        }
    }

    @Test("values receive their path, their index and the encoder's user information")
    func paths() throws {
        let path = EncodedBy { encoder in
            let keys = encoder.codingPath.map { "\($0.stringValue)|\($0.intValue.map(String.init) ?? "-")" }
            var container = encoder.singleValueContainer()
            guard container.codingPath.count == keys.count else { throw Refusal() }
            try container.encode(keys.joined(separator: " "))
        }
        // The dictionaries are created once, because equal ones may have different orders.
        let (numbered, named) = ([1: path, 20: path], ["k": [path, path], "7": [path]])
        let value = EncodedBy { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(numbered, forKey: .a)
            try container.encode(named, forKey: .b)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .c)
            try nested.encode(path, forKey: .a)
            var list = nested.nestedUnkeyedContainer(forKey: .b)
            try list.encode("x")
            try list.encode(EncodedBy?.some(path))
            try path.encode(to: list.superEncoder())
            guard list.codingPath.map(\.stringValue) == ["top", "c", "b"], encoder.codingPath.count == 1 else {
                throw Refusal()
            }
            try path.encode(to: nested.superEncoder())
        }
        var ways = BothWays()
        let text = try ways.byTree(["top": value])
        #expect(ways.atOnce(["top": value]) == text)
        #expect(text.contains("top|- c|- b|- 2|2"))
        let key = try #require(CodingUserInfoKey(rawValue: "place"))
        ways.encoder.userInfo = [key: "Marsh"]
        let informed = EncodedBy { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(encoder.userInfo[key] as? String)
            try container.encode([path])
            try container.encode(["a": Set(["x"])])
        }
        #expect(ways.atOnce(["top": informed]) == #"{"top":["Marsh",["top|- 1|1 0|0"],{"a":["x"]}]}"#)
    }

    @Test("the depth limit equals that of the tree, and a cycle is an error")
    func depth() throws {
        typealias Box = ParameterEncoderFaultTests.Box
        let ways = BothWays()
        for depth in [1, ParameterValue.depthLimit - 1, ParameterValue.depthLimit, ParameterValue.depthLimit + 1, 300] {
            #expect(ways.atOnce(Box(depth: depth)) == (try? ways.byTree(Box(depth: depth))))
        }
        checkRefused(ParameterEncoderFaultTests.Itself())
        let loop = ParameterEncoderFaultTests.Loop()
        loop.next = loop
        defer { loop.next = nil }
        checkRefused(loop)
        for isKeyed in [true, false] {
            checkRefused(
                EncodedBy { encoder in
                    if isKeyed {
                        var container = encoder.container(keyedBy: Key.self)
                        for _ in 0..<10_000 { container = container.nestedContainer(keyedBy: Key.self, forKey: .a) }
                    } else {
                        var list = encoder.unkeyedContainer()
                        for _ in 0..<10_000 { list = list.nestedUnkeyedContainer() }
                    }
                })
        }
    }

    @Test("sorted keys, line breaks and disallowed fragments are encoded through the tree")
    func styles() throws {
        for options in [[.sortedKeys], [.prettyPrinted]] as [JSONCoding.Style.Options] {
            let ways = BothWays(options: options)
            #expect(ways.atOnce(["b": 1]) == nil)
            #expect(try ways.text(["b": 1]) == ways.byTree(["b": 1]))
        }
        #expect(BothWays(options: []).atOnce(1) == nil)
        #expect(BothWays(options: []).atOnce([1]) == "[1]")
        #expect(throws: JSONCoding.Failure.self) { try BothWays(options: []).text(1) }
        checkRefused([Double.nan])
        checkRefused([Date.distantFuture.addingTimeInterval(1e12)])
        checkRefused(["k": Decimal.nan])
    }

    @Test("values nested to the limit, and deeper ones that are refused, need less than 1 MiB of stack")
    func stack() async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                typealias Box = ParameterEncoderFaultTests.Box
                #expect(BothWays().atOnce(Box(depth: ParameterValue.depthLimit)) != nil)
                #expect(BothWays().atOnce(Box(depth: 1000)) == nil)
                #expect(BothWays().atOnce(ParameterEncoderFaultTests.Itself()) == nil)
                continuation.resume()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }
}
