internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewJSON

/// A fuzz target for JSON decoding. Curlew's decoder must read random types like Foundation's: the same values, the
/// same kinds of errors, at the same paths.
@main
struct FuzzJSONDecoding: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let shape = Shape.made(by: &choices)
        let text = choices.rest
        // Foundation rejects a zero with an exponent, and reports other errors for invalid UTF-16.
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
    /// True if Foundation reads the value by the same rules. Foundation treats canonically equivalent keys as equal,
    /// and rejects numbers too small for a `Double` or a `Float`. It also rounds a long number before it checks for an
    /// integer.
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
