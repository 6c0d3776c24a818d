internal import FuzzingKit

/// The type of a decoded JSON value, made from random choices.
indirect enum Shape {
    enum Scalar: CaseIterable {
        case bool, string, double, float, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, decimal,
            data
    }

    /// The method of accessing a member.
    enum Access: CaseIterable { case required, ifPresent, afterNil, afterContains, superDecoder, twice }

    struct Member {
        let name: String
        let access: Access
        let shape: Shape
    }

    case scalar(Scalar)
    case optional(Shape)
    /// An array of the standard library.
    case array(Shape)
    case dictionary(Shape)
    case integers
    case strings
    case doubles
    case members([Member])
    /// Elements read one by one, each tried as the first shape and then as the second.
    case elements(Shape, Shape)
    case nested([Member])
    case allKeys
    case single(Shape)

    static let names = ["a", "b", "c", "aa", "longerThanEight", "\"", "", "super"]

    /// Makes a shape. Exhausted choices produce a scalar, so that the recursion ends.
    static func made(by choices: inout Choices, depth: Int = 0) -> Shape {
        guard depth < 6, !choices.isUsedUp else { return .scalar(choices.one(of: Scalar.allCases)) }
        func inner() -> Shape { made(by: &choices, depth: depth + 1) }
        func members() -> [Member] {
            (0..<choices.number(below: 5)).map { _ in
                Member(name: choices.one(of: names), access: choices.one(of: Access.allCases), shape: inner())
            }
        }
        switch choices.number(below: 16) {
        case 0...3: return .scalar(choices.one(of: Scalar.allCases))
        case 4: return .optional(inner())
        case 5: return .array(inner())
        case 6: return .dictionary(inner())
        case 7: return .integers
        case 8: return .strings
        case 9: return .doubles
        case 10, 11: return .members(members())
        case 12: return .elements(inner(), inner())
        case 13: return .nested(members())
        case 14: return .allKeys
        default: return .single(inner())
        }
    }
}
