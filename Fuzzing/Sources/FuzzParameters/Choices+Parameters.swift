internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewCore
@testable internal import CurlewJSON

extension Choices {
    mutating func parameterStyle() -> RequestParameters.Style {
        var style = RequestParameters.Style()
        style.arrays = one(of: [.brackets, .indexed, .repeated, .commas])
        style.nesting = one(of: [.brackets, .dots])
        style.keyOrder = one(of: [.sorted, .insertion])
        style.booleans = one(of: [.numeric, .literal])
        style.nulls = one(of: [.nameAlone, .empty, .dropped])
        style.dates = one(of: [
            .description, .iso8601, .iso8601WithMilliseconds, .secondsSince1970, .millisecondsSince1970,
        ])
        style.data = one(of: [.base64, .base64URL, .hexadecimal])
        style.nonFinite = one(of: [.refused, .text()])
        style.spaces = one(of: [.percentEncoded, .plus])
        return style
    }

    /// A random tree; it ends when the input is used up.
    mutating func tree(depth: Int) -> ParameterValue {
        guard depth < 200 else { return .null }
        // The root is usually a dictionary, because only dictionaries produce pairs.
        switch depth == 0 && number(below: 8) > 0 ? 8 : number(below: 10) {
        case 1: return .boolean(flag())
        case 2: return .number(number())
        case 3: return .string(text(upTo: 12))
        case 4: return .data(bytes(number(below: 6)))
        case 5: return .date(Date(timeIntervalSince1970: date()))
        case 6: return .array(values(depth))
        case 7: return .set(Set(values(depth)))
        case 8:
            let keys = (0..<number(below: 5)).map { _ in text(upTo: 6) }
            return .dictionary(ParameterValue.Object(keys.map { ($0, tree(depth: depth + 1)) }))
        case 9: return .array([tree(depth: depth + 1)])
        default: return .null
        }
    }

    private mutating func values(_ depth: Int) -> [ParameterValue] {
        (0..<number(below: 5)).map { _ in tree(depth: depth + 1) }
    }

    private mutating func number() -> ParameterValue.Number {
        switch number(below: 5) {
        case 1: ParameterValue.Number(Double(bitPattern: word()))
        case 2: ParameterValue.Number(Float(bitPattern: UInt32(truncatingIfNeeded: word())))
        case 3: ParameterValue.Number(decimal: text(upTo: 12)) ?? ParameterValue.Number(0)
        case 4: ParameterValue.Number(word())
        default: ParameterValue.Number(Int8(bitPattern: byte()))
        }
    }

    private mutating func date() -> Double {
        flag() ? Double(bitPattern: word()) : Double(Int64(bitPattern: word()) >> 20) / 1000
    }
}
