internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewJSON

/// A value made from choices: a type with its own encoding path, or a type whose code performs random steps on its
/// encoder.
indirect enum MadeValue: Encodable {
    case null
    case leaf(any Encodable & Sendable)
    case list([MadeValue])
    case dictionary([String: MadeValue])
    case optional(MadeValue?)
    case encoded([Step])
    /// A number that may have more digits than Foundation reads.
    case long(any Encodable & Sendable)

    init(_ choices: inout Choices, depth: Int) {
        let kind = depth > 300 ? 0 : choices.number(below: 24)
        switch kind {
        case 1: self = .leaf(choices.text(upTo: 40))
        case 2: self = .leaf(Int(truncatingIfNeeded: choices.word()) >> choices.number(below: 64))
        case 3: self = .leaf(Double(bitPattern: choices.word()))
        case 4: self = .leaf(Double(Int64(bitPattern: choices.word()) >> choices.number(below: 64)) / 1000)
        case 5: self = .leaf(choices.flag())
        case 6: self = Self.number(&choices)
        case 7: self = .leaf(Date(timeIntervalSince1970: Double(Int64(bitPattern: choices.word()) >> 24) / 8))
        case 8: self = .leaf(Data(choices.bytes(choices.number(below: 9))))
        case 9:
            let byte = choices.byte()
            self = .leaf(UUID(uuid: (byte, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, byte)))
        case 10: self = .leaf(URL(string: "https://a.test/\(choices.byte())") ?? URL(fileURLWithPath: "/"))
        case 11: self = .long(Decimal(Int64(bitPattern: choices.word())) / 1000)
        case 12: self = .leaf((0..<choices.number(below: 6)).map { _ in choices.text(upTo: 9) })
        case 13: self = .leaf((0..<choices.number(below: 6)).map { _ in Int(choices.byte()) - 128 })
        case 14: self = .leaf((0..<choices.number(below: 6)).map { _ in Double(choices.byte()) / 8 })
        case 15: self = .leaf(Set((0..<choices.number(below: 6)).map { _ in choices.byte() }))
        case 16: self = .leaf(["a": .array([.null, .date(Date(timeIntervalSince1970: 0))])] as ParameterValue)
        case 17, 18: self = .list((0..<choices.number(below: 5)).map { _ in MadeValue(&choices, depth: depth + 1) })
        case 19: self = .dictionary(Self.members(&choices, depth: depth))
        case 20: self = .optional(choices.flag() ? MadeValue(&choices, depth: depth + 1) : nil)
        case 21, 22, 23:
            self = .encoded((0..<choices.number(below: 8)).map { _ in Step(&choices, depth: depth + 1) })
        default: self = .null
        }
    }

    private static func number(_ choices: inout Choices) -> MadeValue {
        let word = choices.word()
        return choices.one(of: [
            .leaf(Int8(truncatingIfNeeded: word)), .leaf(Int16(truncatingIfNeeded: word)),
            .leaf(Int32(truncatingIfNeeded: word)), .leaf(Int64(truncatingIfNeeded: word)),
            .leaf(UInt8(truncatingIfNeeded: word)), .leaf(UInt16(truncatingIfNeeded: word)),
            .leaf(UInt32(truncatingIfNeeded: word)), .leaf(word), .leaf(UInt(word)),
            .leaf(Float(bitPattern: UInt32(truncatingIfNeeded: word))), .long(Int128(word) * -3),
            .long(UInt128(word) * 5),
        ])
    }

    private static func members(_ choices: inout Choices, depth: Int) -> [String: MadeValue] {
        var members: [String: MadeValue] = [:]
        for _ in 0..<choices.number(below: 5) {
            members[choices.text(upTo: 12)] = MadeValue(&choices, depth: depth + 1)
        }
        return members
    }

    func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        switch self {
        case .null: try single.encodeNil()
        case .leaf(let value), .long(let value): try single.encode(value)
        case .list(let values): try single.encode(values)
        case .dictionary(let members): try single.encode(members)
        case .optional(let value): try single.encode(value)
        case .encoded(let steps):
            var place = Place(encoder: encoder)
            for step in steps { try place.take(step) }
        }
    }

    var hasLongNumbers: Bool {
        switch self {
        case .null, .leaf: false
        case .long: true
        case .list(let values): values.contains(where: \.hasLongNumbers)
        case .dictionary(let members): members.values.contains(where: \.hasLongNumbers)
        case .optional(let value): value?.hasLongNumbers ?? false
        case .encoded(let steps): steps.contains { $0.value.hasLongNumbers }
        }
    }
}

/// A step that a value's code performs on its encoder.
struct Step {
    enum Action {
        case member, null, element, nestedObject, nestedList, superEncoder, single, attempt, outward, failure
    }

    let action: Action
    let name: String
    let value: MadeValue

    init(_ choices: inout Choices, depth: Int) {
        action = choices.one(of: [
            .member, .member, .member, .element, .element, .null, .nestedObject, .nestedList, .superEncoder, .single,
            .attempt,
            .outward, .outward, .failure,
        ])
        name = choices.flag() ? "key\(choices.number(below: 40))" : choices.text(upTo: 12)
        value = MadeValue(&choices, depth: depth)
    }
}
