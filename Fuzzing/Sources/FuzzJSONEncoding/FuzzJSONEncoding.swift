internal import FoundationEssentials
internal import FuzzingKit

@testable internal import CurlewJSON

/// A fuzz target for JSON encoding. Bytes that are written directly must equal those written by way of a tree of
/// parameters. Foundation and Curlew must read the same value from them.
@main
struct FuzzJSONEncoding: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let encoding = encoding(&choices)
        let value = MadeValue(&choices, depth: 0)
        guard let bytes = encoding.bytesAtOnce(of: value) else { return }
        guard let tree = try? encoding.bytesByTree(of: value) else {
            return require(false, "what has no tree is written at once")
        }
        require(
            bytes == tree,
            "written at once and by way of the tree:\n\(String(decoding: bytes, as: UTF8.self))\n"
                + String(decoding: tree, as: UTF8.self))
        guard let parsed = try? JSONValue(parsing: bytes) else { return require(false, "what was written is not read") }
        // Foundation does not read integers with more digits than its types hold.
        guard !value.hasLongNumbers, let read = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else {
            return require(value.hasLongNumbers, "Foundation does not read what was written")
        }
        require(isSame(read, parsed), "Foundation reads something else:\n\(read)\n\(parsed)")
    }

    /// True if the values are equal to a reader of doubles: Foundation may read a number with an exponent as an
    /// integer.
    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.number(let left), .number(let right)): left.double == right.double
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { key, value in right[key].map { isSame($0, value) } ?? false }
        default: left == right
        }
    }

    private static func encoding(_ choices: inout Choices) -> JSONEncoding {
        var style = JSONCoding.Style()
        style.options = choices.flag() ? [.fragmentsAllowed] : [.fragmentsAllowed, .withoutEscapingSlashes]
        if choices.number(below: 8) == 7 { style.options = [] }
        style.nonFinite = choices.flag() ? .text() : .refused
        style.dates = choices.one(of: [
            .iso8601, .iso8601WithMilliseconds, .description, .secondsSince1970, .millisecondsSince1970,
            .custom { ParameterValue($0.timeIntervalSinceReferenceDate) },
        ])
        style.data = choices.one(of: [.base64, .base64URL, .hexadecimal])
        var encoder = ParameterEncoder()
        encoder.keyNaming = choices.one(of: [.asWritten, .snakeCase, .custom { String($0.reversed()) }])
        return JSONEncoding(encoder: encoder, style: style)
    }
}
