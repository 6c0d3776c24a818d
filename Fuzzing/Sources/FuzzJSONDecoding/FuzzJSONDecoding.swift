internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewJSON

/// Types that are made up as the fuzzer goes are read by Curlew's decoder as they are by Foundation's: the same values, the same
/// kinds of errors, at the same paths.
@main
struct FuzzJSONDecoding: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let shape = Shape.made(by: &choices)
        let text = choices.rest
        // Foundation refuses a zero with an exponent, and has other errors for broken UTF-16.
        guard !text.contains(0), !text.contains(Array("0e".utf8)), !text.contains(Array("0E".utf8)) else { return }
        guard let value = try? JSONValue(parsing: text), value.isReadAlike else { return }
        let coding = JSONCoding(dates: .secondsSince2001)
        let own = outcome(shape) { try coding.decode(Seen.self, from: text) }
        let others = outcome(shape) { try JSONDecoder().decode(Seen.self, from: Data(text)) }
        requireEqual(own, others, "\(shape) is read otherwise from \(value)")
    }

    private static func outcome(_ shape: Shape, _ decode: () throws -> Seen) -> [String] {
        Seen.shape = shape
        do { return try decode().notes } catch { return [error.kindAndPath] }
    }
}

extension JSONValue {
    /// True if Foundation reads the value by the same rules. It takes letters for equal that are composed otherwise, rounds a
    /// number of many digits before it looks whether it is an integer, and refuses numbers too small for a `Double` or a `Float`.
    fileprivate var isReadAlike: Bool {
        switch self {
        case .array(let values): values.allSatisfy(\.isReadAlike)
        case .object(let object): object.allSatisfy { $0.key.utf8.allSatisfy { $0 < 0x80 } && $0.value.isReadAlike }
        case .number(let number):
            number.integer(as: Int128.self) != nil
                || number.double != 0 && number.double.map { abs($0) > 1e-44 } ?? true && number.description.count < 16
        default: true
        }
    }
}
