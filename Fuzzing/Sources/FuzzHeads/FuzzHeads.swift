internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for heads of responses. A parser with a cache of earlier heads must read each head like a parser
/// without one, and no field may contain forbidden bytes.
///
/// The input is a list of responses separated by the byte 1E. A choice repeats each folded line up to the size limit of
/// a head, which mutation alone does not reach.
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
        // Every response is parsed twice. In the second pass the cache contains the heads of the later responses too.
        let answers = choices.rest.split(separator: 0x1E, omittingEmptySubsequences: false)
        for answer in answers + answers {
            let remembering = outcome(
                of: answer, foldCount, HeadParser(limits: limits, cache: cache))
            let fresh = outcome(
                of: answer, foldCount, HeadParser(limits: limits, cache: ResponseHeadCache()))
            requireEqual(remembering, fresh, "a head is read otherwise than by itself")
        }
    }

    /// The parser's results for the lines, in words.
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
            // The parser reads nothing after trailers.
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
