package import HTTPTypes

/// Takes a multipart body apart (RFC 2046 §5.1): bytes in, events out, with no idea of where the bytes come from.
///
/// Append a chunk, then take events until there are none, and so on; after the last chunk, ``finish()`` and take the rest.
/// It holds what was appended and not yet handed out, and of that no more than a delimiter or the head of a part waits for
/// the next chunk.
///
/// How it reads:
/// - A delimiter is a line of its own: `--`, the boundary, for the last one `--`, then at most 256 spaces and tabs. A line
///   that only begins so belongs to the part.
/// - The line end behind the first delimiter, CRLF or a bare LF, is that of the whole body. In a body with CRLF a bare LF is
///   content; within the fields of a part the other kind is an error.
/// - What stands before the first delimiter and behind the last is skipped.
package struct MultipartParser: Sendable {
    /// The events of the parser.
    package enum Event: Sendable, Equatable {
        /// A part begins; these are its fields.
        case head(HTTPFields)
        /// Bytes of the part's body; never none.
        case body([UInt8])
        /// The part is whole.
        case partEnd
        /// The last delimiter was there. What is appended now is skipped.
        case end
    }

    enum State {
        /// Before the first delimiter.
        case preamble
        /// In the fields of a part.
        case head(PartHeadScan)
        /// At the line end of the empty line behind the fields, which may be the delimiter's own.
        case bodyStart
        case body
        /// Behind a delimiter that ended a part.
        case partEnd(isLast: Bool)
        case last
        /// Nothing is looked for any more.
        case over
    }

    /// The outcome of one step.
    enum Step {
        case event(Event)
        case goesOn
        case needsMore
    }

    private let limits: CurlewResponse.MultipartParts.Limits
    /// `--` and the boundary.
    private let dashed: [UInt8]
    /// What delimiter lines begin with, and the line end before it: before the first delimiter LF, which CRLF ends with too.
    /// As no boundary holds a line end, the search never looks at a byte more than twice or so, whatever the peer sends.
    private var delimiter: DelimiterSearch
    private var newline: LineEnd?
    private var state = State.preamble
    /// It begins with the end of a line that is not there, since the first delimiter needs none.
    private(set) var buffer: [UInt8] = [.lineFeed]
    /// The number of bytes of the buffer that are done with.
    private(set) var position = 0
    private(set) var isFinished = false

    /// - Parameters:
    ///   - boundary: From the parameter of that name, without the dashes: 1 to 256 bytes without control characters.
    ///   - limits: The bounds.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for what cannot be a boundary.
    package init(
        boundary: String, limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits()
    ) throws {
        let bytes = Array(boundary.utf8)
        guard (1...256).contains(bytes.count), bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), bytes.last != .space
        else { throw CurlewError(.decodingFailed, "the boundary of the multipart body cannot be one") }
        self.limits = limits
        dashed = Array("--".utf8) + bytes
        delimiter = DelimiterSearch([.lineFeed] + dashed)
    }

    /// Adds bytes of the body.
    package mutating func append(_ chunk: [UInt8]) {
        if case .over = state { return }
        if position == buffer.count {
            buffer = chunk
        } else {
            buffer.removeFirst(position)
            buffer += chunk
        }
        position = 0
    }

    /// Says that there are no more bytes.
    package mutating func finish() { isFinished = true }

    /// The next event; nil if more bytes are needed, or all is over.
    /// - Throws: ``CurlewError``: ``ErrorCode/responseTruncated`` if the bytes end before the last delimiter,
    ///   ``ErrorCode/decodingFailed`` for fields that cannot be read, ``ErrorCode/responseHeadTooLarge`` for too many. After
    ///   that there are no more events.
    package mutating func next() throws -> Event? {
        do {
            while true {
                switch try step() {
                case nil: return nil
                case .event(let event): return event
                case .goesOn: continue
                case .needsMore:
                    guard isFinished else { return nil }
                    throw CurlewError(.responseTruncated, "the multipart body ends before its last boundary")
                }
            }
        } catch {
            stop()
            throw error
        }
    }

    private mutating func step() throws -> Step? {
        switch state {
        case .preamble: return findFirstDelimiter()
        case .head(let scan): return try takeHead(scan)
        case .bodyStart: return startBody()
        case .body: return takeBody()
        case .partEnd(let isLast):
            state = isLast ? .last : .head(PartHeadScan())
            return .event(.partEnd)
        case .last:
            stop()
            return .event(.end)
        case .over: return nil
        }
    }

    private mutating func stop() {
        state = .over
        buffer = []
        position = 0
    }
}

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
    private mutating func findFirstDelimiter() -> Step {
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

    private mutating func takeHead(_ scan: PartHeadScan) throws -> Step {
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

    private mutating func startBody() -> Step {
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

    private mutating func takeBody() -> Step {
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
