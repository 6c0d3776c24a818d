import CurlewJSON
import Foundation
import Testing

@Suite("Errors of parameter encoding")
struct ParameterEncoderFaultTests {
    struct Reason: Error {}

    struct Behaving: Encodable {
        let behaviour: @Sendable (any Encoder) throws -> Void

        init(_ behaviour: @escaping @Sendable (any Encoder) throws -> Void) { self.behaviour = behaviour }
        func encode(to encoder: any Encoder) throws { try behaviour(encoder) }
    }

    private enum Key: String, CodingKey { case a }

    private func failure(_ value: some Encodable) -> JSONCoding.Failure? {
        let error = #expect(throws: JSONCoding.Failure.self) { try ParameterEncoder().encode(value) }
        #expect(error?.code == .encodingFailed)
        return error
    }

    @Test("the error of a value that throws is kept, and the message contains its path")
    func throwing() {
        let error = failure([
            "users": [["ok": Behaving { try true.encode(to: $0) }], ["bad": Behaving { _ in throw Reason() }]]
        ])
        #expect(error?.underlying is Reason)
        #expect(error?.description.contains("users[1].bad") == true)
        let refused = failure([
            Behaving { encoder in
                let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "secret value")
                throw EncodingError.invalidValue(1, context)
            }
        ])
        #expect(refused?.description.contains("[0]") == true)
        #expect(refused?.description.contains("secret") == false)
    }

    @Test("an error that a value catches itself does not fail the encoding")
    func caught() throws {
        let value = try ParameterEncoder().encode(
            Behaving { encoder in
                var container = encoder.unkeyedContainer()
                do { try container.encode(Behaving { _ in throw Reason() }) } catch { try container.encode("else") }
            })
        #expect(value == ["else"])
    }

    @Test("a value that encodes nothing is an empty dictionary when nested, and an error at the top")
    func nothing() throws {
        #expect(try ParameterEncoder().encode(["k": Behaving { _ in }]) == ["k": [:]])
        #expect(failure(Behaving { _ in })?.description.contains("nothing") == true)
        struct Empty: Encodable {}
        #expect(try ParameterEncoder().encode(Empty()) == [:])
    }

    @Test("a value that encodes twice at one path is an error")
    func twice() throws {
        let single = failure([
            "k": Behaving { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        ])
        #expect(single?.description.contains("k encoded two values") == true)
        let key = Behaving { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            try container.encode(2, forKey: .a)
        }
        #expect(try ParameterEncoder().encode(key) == ["a": 2])
    }

    @Test("a value that requests containers of two kinds is an error")
    func twoKinds() {
        let behaviours: [@Sendable (any Encoder) throws -> Void] = [
            { encoder in
                _ = encoder.unkeyedContainer()
                var keyed = encoder.container(keyedBy: Key.self)
                try keyed.encode(1, forKey: .a)
            },
            { encoder in
                _ = encoder.container(keyedBy: Key.self)
                var list = encoder.unkeyedContainer()
                try list.encode(1)
            },
            { encoder in
                _ = encoder.container(keyedBy: Key.self)
                var single = encoder.singleValueContainer()
                try single.encode(1)
            },
            { encoder in
                var single = encoder.singleValueContainer()
                try single.encode(1)
                _ = encoder.unkeyedContainer()
            },
        ]
        for behaviour in behaviours {
            #expect(failure(["k": [Behaving(behaviour)]])?.description.contains("k[0]") == true)
        }
    }

    final class Loop: Encodable {
        var next: Loop?
        init() {}
        enum CodingKeys: String, CodingKey { case next }
    }

    @Test("a cycle of objects is an error, not a crash")
    func cycle() {
        let first = Loop()
        let second = Loop()
        first.next = second
        second.next = first
        defer { first.next = nil }
        let error = failure(first)
        #expect(error?.description.contains("next.next.next") == true)
        #expect(error?.description.utf8.count ?? 1000 < 400)
    }

    @Test("a value that encodes itself instead of its contents is an error")
    func itself() {
        #expect(failure(Itself())?.description.contains("deep") == true)
    }

    @Test("endlessly nested containers are an error", arguments: [true, false])
    func nestedContainers(_ isKeyed: Bool) {
        let value = Behaving { encoder in
            if isKeyed {
                var container = encoder.container(keyedBy: Key.self)
                for _ in 0..<10_000 { container = container.nestedContainer(keyedBy: Key.self, forKey: .a) }
            } else {
                var list = encoder.unkeyedContainer()
                for _ in 0..<10_000 { list = list.nestedUnkeyedContainer() }
            }
        }
        #expect(failure(value)?.description.contains("deep") == true)
    }

    struct Box: Encodable {
        let depth: Int

        func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            if depth > 1 { try list.encode(Box(depth: depth - 1)) } else { try list.encode(1) }
        }
    }

    struct Itself: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    @Test("values may be nested up to the limit")
    func deep() throws {
        let value = try ParameterEncoder().encode(Box(depth: ParameterValue.depthLimit))
        #expect(try value.json().count == 2 * ParameterValue.depthLimit + 1)
        #expect(throws: JSONCoding.Failure.self) { try ParameterEncoder().encode(Box(depth: 200)) }
        #expect(throws: JSONCoding.Failure.self) { try ParameterEncoder().encode(Box(depth: 100_000)) }
    }

    @Test("values nested to the limit, and deeper ones that are refused, need less than 1 MiB of stack")
    func stack() async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                do {
                    let value = try ParameterEncoder().encode(["k": Box(depth: ParameterValue.depthLimit - 1)])
                    #expect(try !value.json().isEmpty)
                } catch {
                    Issue.record(error)
                }
                #expect(throws: JSONCoding.Failure.self) { try ParameterEncoder().encode(Itself()) }
                continuation.resume()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }
}
