internal import FuzzingKit

@testable internal import CurlewCore

/// A fuzz target for the lines of NDJSON. The lines must be the text between line feeds, up to the first line that is
/// too long, whatever the pieces of the body are.
@main
struct FuzzLines: FuzzTarget {
    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let seed = choices.byte()
        let limit = choices.one(of: [1000, 16, 3, 0])
        let body = choices.rest
        let expected = cut(body, limit: limit)
        for pieces in [[body]] + piecings(of: body, seed: seed) {
            requireEqual(read(pieces, limit: limit), expected, "the lines depend on the pieces")
        }
    }

    /// The lines; nil for an error.
    private static func read(_ pieces: [[UInt8]], limit: Int) -> [[UInt8]?] {
        var splitter = LineSplitter(limit: limit)
        var lines: [[UInt8]?] = []
        do {
            while let line = try splitter.next() { lines.append(Array(line)) }
            for piece in pieces {
                splitter.append(piece)
                while let line = try splitter.next() { lines.append(Array(line)) }
            }
            if let rest = splitter.rest() { lines.append(Array(rest)) }
        } catch {
            lines.append(nil)
        }
        return lines
    }

    private static func cut(_ body: [UInt8], limit: Int) -> [[UInt8]?] {
        var lines: [[UInt8]?] = []
        let parts = body.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            if isLast, part.isEmpty { break }
            guard part.count <= limit else { return lines + [nil] }
            lines.append(Array(!isLast && part.last == UInt8(ascii: "\r") ? part.dropLast() : part))
        }
        return lines
    }
}
