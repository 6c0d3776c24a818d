internal import HTTPTypes

extension MultipartParser {
    /// What follows the boundary of what may be a delimiter.
    private enum Tail {
        /// Another part, which begins at `end`.
        case part(end: Int, LineEnd)
        case last
        case noDelimiter
        case needsMore
    }

    private static let paddingLimit = 256

    /// Reads on from behind the boundary.
    private func tail(at start: Int) -> Tail {
        var place = start
        let isLast = buffer[place...].starts(with: "--".utf8)
        if isLast {
            place += 2
        } else if !isFinished, buffer.count - place < 2, buffer[place...].allSatisfy({ $0 == UInt8(ascii: "-") }) {
            return .needsMore
        }
        let padding = buffer[place...].prefix(Self.paddingLimit).prefix { $0 == .space || $0 == .tab }
        place = padding.endIndex
        guard place < buffer.count else {
            if isFinished { return isLast ? .last : .noDelimiter }
            return .needsMore
        }
        if buffer[place] == .lineFeed { return tail(isLast, end: place + 1, .lineFeed) }
        guard buffer[place] == .carriageReturn else { return .noDelimiter }
        guard place + 1 < buffer.count else {
            if isFinished { return isLast ? .last : .noDelimiter }
            return .needsMore
        }
        guard buffer[place + 1] == .lineFeed else { return .noDelimiter }
        return tail(isLast, end: place + 2, .carriageReturnLineFeed)
    }

    private func tail(_ isLast: Bool, end: Int, _ lineEnd: LineEnd) -> Tail {
        if isLast { return .last }
        guard newline == nil || newline == lineEnd else { return .noDelimiter }
        return .part(end: end, lineEnd)
    }

    /// Passes over what stands before the first delimiter, holding nothing but what may be a part of it.
    mutating func findFirstDelimiter() -> Step {
        var start = position
        while let match = delimiter.firstMatch(in: buffer, from: start) {
            start = match + 1
            switch tail(at: match + delimiter.pattern.count) {
            case .part(let end, let lineEnd):
                newline = lineEnd
                delimiter = DelimiterSearch(lineEnd.bytes + dashed)
                position = end
                state = .head(PartHeadScan())
                return .goesOn
            case .last:
                state = .last
                return .goesOn
            case .noDelimiter: continue
            case .needsMore:
                position = match
                return .needsMore
            }
        }
        position = delimiter.partialMatch(in: buffer, from: start)
        return .needsMore
    }

    mutating func takeHead(_ scan: PartHeadScan) throws -> Step {
        var scan = scan
        guard let end = try scan.end(in: buffer[position...], newline: newline ?? .lineFeed, limits: limits) else {
            state = .head(scan)
            return .needsMore
        }
        let fields = try scan.fields(in: buffer[position...], limits: limits)
        // The line end of the empty line stays: a part without body has its delimiter there.
        position += end - (newline?.bytes.count ?? 0)
        state = .bodyStart
        return .event(.head(fields))
    }

    mutating func startBody() -> Step {
        let pattern = delimiter.pattern
        let rest = buffer[position...].prefix(pattern.count)
        if pattern.starts(with: rest) {
            guard rest.count == pattern.count else { return isFinished ? skipLineEnd() : .needsMore }
            switch tail(at: rest.endIndex) {
            case .part(let end, _): return endPart(isLast: false, at: end)
            case .last: return endPart(isLast: true, at: rest.endIndex)
            case .noDelimiter: break
            case .needsMore: return .needsMore
            }
        }
        return skipLineEnd()
    }

    private mutating func skipLineEnd() -> Step {
        position += newline?.bytes.count ?? 0
        state = .body
        return .goesOn
    }

    mutating func takeBody() -> Step {
        var start = position
        while let match = delimiter.firstMatch(in: buffer, from: start) {
            start = match + 1
            switch tail(at: match + delimiter.pattern.count) {
            // The bytes before it first; the delimiter is found again then.
            case .part(let end, _): return take(upTo: match) ?? endPart(isLast: false, at: end)
            case .last: return take(upTo: match) ?? endPart(isLast: true, at: match)
            case .noDelimiter: continue
            case .needsMore: return take(upTo: match) ?? .needsMore
            }
        }
        return take(upTo: delimiter.partialMatch(in: buffer, from: start)) ?? .needsMore
    }

    private mutating func endPart(isLast: Bool, at end: Int) -> Step {
        position = end
        state = .partEnd(isLast: isLast)
        return .goesOn
    }

    /// The bytes of the body up to a place; nil if there are none.
    private mutating func take(upTo end: Int) -> Step? {
        guard end > position else { return nil }
        defer { position = end }
        if position == 0, end == buffer.count { return .event(.body(buffer)) }
        return .event(.body(Array(buffer[position..<end])))
    }
}
