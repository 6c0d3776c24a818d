internal import FuzzingKit
internal import HTTPTypes

@testable internal import Curlew
@testable internal import CurlewSupport

/// Heads of responses: a parser that remembers the heads before makes of each the same as one that has seen none, and no
/// field that it hands out holds what may not stand there.
///
/// An input is a list of answers with the byte 1E between them. A decision makes many of each folded line, up to the size that
/// a head may have: mutation alone does not get there.
@main
struct FuzzHeads: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        var limits = CurlewResponse.Limits()
        limits.fieldCount = choices.one(of: [1000, 2, 5])
        limits.headSize = choices.one(of: [.kibibytes(256), 60])
        limits.fieldCount = choices.one(of: [limits.fieldCount, 60_000])
        let foldCount = choices.one(of: [1, 60_000])
        let cache = ResponseHeadCache()
        // Twice, so that every answer also meets what the last ones have left.
        let answers = choices.rest.split(separator: 0x1E, omittingEmptySubsequences: false)
        for answer in answers + answers {
            let remembering = outcome(
                of: answer, foldCount, HeadParser(limits: limits, cache: cache))
            let fresh = outcome(
                of: answer, foldCount, HeadParser(limits: limits, cache: ResponseHeadCache()))
            requireEqual(remembering, fresh, "a head is read otherwise than by itself")
        }
    }

    /// What the parser makes of the lines, in words.
    private static func outcome(
        of answer: ArraySlice<UInt8>, _ foldCount: Int, _ parser: HeadParser
    ) -> [String] {
        var parser = parser
        var outcome: [String] = []
        var rest = answer
        while !rest.isEmpty {
            let end = rest.firstIndex(of: .lineFeed).map { $0 + 1 } ?? rest.endIndex
            let line = Array(rest[..<end])
            rest = rest[end...]
            var event = line.withUnsafeBytes { parser.take($0) }
            if line[0] == .space || line[0] == .tab {
                for _ in 1..<foldCount {
                    guard case .more = event else { break }
                    event = line.withUnsafeBytes { parser.take($0) }
                }
            }
            switch event {
            case .more: continue
            case .invalid(let code, let message): return outcome + ["\(code): \(message)"]
            case .interim(let response): outcome.append("interim \(text(response)) \(parser.framing)")
            case .head(let response): outcome.append("\(parser.version) \(text(response)) \(parser.framing)")
            // Nothing comes after them.
            case .trailers(let fields): return outcome + ["trailers \(text(fields))"]
            }
        }
        guard parser.isComplete else { return outcome + ["unfinished \(parser.status)"] }
        return outcome + ["unfinished trailers \(text(parser.takeFields()))"]
    }

    private static func text(_ response: HTTPResponse) -> String {
        require((100..<1000).contains(response.status.code), "the status is out of range")
        return "\(response.status.code) \(response.status.reasonPhrase) \(text(response.headerFields))"
    }

    private static func text(_ fields: HTTPFields) -> String {
        for field in fields {
            require(field.name.rawName.utf8.allSatisfy(\.isTokenByte), "a field name is no token")
            require(field.value.utf8.allSatisfy(\.isReceivedValueByte), "a value holds NUL, CR or LF")
        }
        return fields.map { "\($0.name.rawName)=\($0.value)" }.joined(separator: "|")
    }
}
