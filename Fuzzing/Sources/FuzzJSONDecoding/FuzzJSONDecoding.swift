internal import FoundationEssentials
internal import FuzzingKit

@testable internal import Curlew

/// Types that are made up as the fuzzer goes are read by Curlew's decoder as they are by Foundation's: the same values, the same
/// kinds of errors, at the same paths.
@main
struct FuzzJSONDecoding: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let shape = Shape.made(by: &choices)
        let text = choices.rest
        guard let value = try? JSONValue(parsing: text), value.hasOnlySimpleNames else { return }
        let coding = JSONCoding(dates: .secondsSince2001)
        let own = outcome(shape) { try coding.decode(Seen.self, from: text) }
        let others = outcome(shape) { try JSONDecoder().decode(Seen.self, from: Data(text)) }
        requireEqual(own, others, "\(shape) is read otherwise")
    }

    private static func outcome(_ shape: Shape, _ decode: () throws -> Seen) -> [String] {
        Seen.shape = shape
        do { return try decode().notes } catch { return [error.kindAndPath] }
    }
}

extension JSONValue {
    /// True if Foundation compares the names as Curlew does: it takes letters for equal that are composed otherwise.
    fileprivate var hasOnlySimpleNames: Bool {
        switch self {
        case .array(let values): values.allSatisfy(\.hasOnlySimpleNames)
        case .object(let object):
            object.allSatisfy { $0.key.utf8.allSatisfy { $0 < 0x80 } && $0.value.hasOnlySimpleNames }
        default: true
        }
    }
}
