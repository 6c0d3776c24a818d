internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore

/// A fuzz target for Content-Range and the evaluation of responses to ranges. Only requested bytes may be accepted,
/// whatever the server sends.
///
/// The input is choices and the value of a field.
@main
struct FuzzContentRange: FuzzTarget {
    private static let tags = ["\"a\"", "\"b\"", "W/\"a\"", ""]

    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let status = choices.one(of: [206, 416, 200, 503])
        let tag = choices.one(of: tags)
        let isOpen = choices.flag()
        let start = Int64(choices.one(of: [0, 1, 100, 1000]))
        let text = String(decoding: choices.rest, as: UTF8.self)
        checkField(text)
        guard let validator = ResumeToken.Validator(entityTag: "\"a\"") else { return }
        let request = RangeRequest(
            wanted: start..<(isOpen ? .max : start + 50), total: isOpen ? nil : 2000, validator: validator)
        var fields: HTTPFields = [.contentRange: text]
        if !tag.isEmpty { fields[.eTag] = tag }
        checkVerdict(request.evaluate(HTTPResponse(status: .init(code: status), headerFields: fields)), request, tag)
    }

    private static func checkField(_ text: String) {
        guard let content = try? ContentRange(text) else { return }
        let total = content.total.map(String.init) ?? "*"
        guard let range = content.range else {
            require(content.total != nil, "nothing is known")
            return requireEqual("bytes */\(total)", lowerUnit(text), "the field is another one when written")
        }
        require(range.lowerBound >= 0 && !range.isEmpty, "the range is none")
        require(content.total.map { range.upperBound <= $0 } ?? true, "the range is beyond the whole")
        let again = try? ContentRange("bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)")
        requireEqual(again, content, "the field is another one when written and read")
    }

    /// The text with a normalized unit and number. Leading zeros do not matter in the test of ranges, so only
    /// unsatisfied ranges are compared as text.
    private static func lowerUnit(_ text: String) -> String {
        guard let slash = text.firstIndex(of: "/") else { return text }
        let digits = text[text.index(after: slash)...].drop { $0 == "0" }
        return "bytes */\(digits.isEmpty ? "0" : digits)"
    }

    private static func checkVerdict(_ verdict: RangeRequest.Verdict, _ request: RangeRequest, _ tag: String) {
        switch verdict {
        case .part(let range, let total):
            requireEqual(tag, "\"a\"", "a part of another representation is taken")
            requireEqual(range.lowerBound, request.wanted.lowerBound, "a part begins elsewhere")
            require(range.upperBound <= request.wanted.upperBound, "a part has more than was asked for")
            require(total.map { range.upperBound <= $0 } ?? false, "a part is beyond the whole")
            require(request.total == nil || request.total == total, "the whole has another length")
        case .complete:
            require(request.total == nil || request.total == request.wanted.lowerBound, "there is more")
            require(tag.isEmpty || tag == "\"a\"", "another representation is taken for complete")
        case .whole, .mismatch, .refused: break
        }
    }
}
