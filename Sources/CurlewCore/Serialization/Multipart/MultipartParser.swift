package import HTTPTypes

/// Parses a multipart body (RFC 2046 §5.1): bytes are its input, events its output.
///
/// Append a chunk, then take events until there are none, and repeat; after the last chunk call ``finish()`` and take
/// the remaining events. It stores the appended bytes until they are returned. At most a delimiter or the head of a
/// part waits for the next chunk.
///
/// Rules of parsing:
/// - A delimiter is a line of its own: `--`, the boundary, `--` for the last one, then at most 256 spaces and tabs. A
///   line that only begins so belongs to the part.
/// - The line end after the first delimiter, CRLF or a bare LF, applies to the complete body. In a body with CRLF a
///   bare LF is content; within the fields of a part the other kind is an error.
/// - Bytes before the first delimiter and after the last are skipped.
package struct MultipartParser: Sendable {
    /// The events of the parser.
    package enum Event: Sendable, Equatable {
        /// A part begins; these are its fields.
        case head(HTTPFields)
        /// The bytes of the part's body; never empty.
        case body([UInt8])
        /// The part is complete.
        case partEnd
        /// The last delimiter was found. Later bytes are skipped.
        case end
    }

    enum State {
        /// Before the first delimiter.
        case preamble
        /// In the fields of a part.
        case head(PartHeadScan)
        /// At the line end of the empty line after the fields, which may belong to the delimiter.
        case bodyStart
        case body
        /// After a delimiter that ended a part.
        case partEnd(isLast: Bool)
        case last
        /// At the end: later bytes are ignored.
        case over
    }

    /// The outcome of one step.
    enum Step {
        case event(Event)
        case goesOn
        case needsMore
    }

    private let limits: CurlewResponse.MultipartParts.Limits
    /// The dashes and the boundary.
    private let dashed: [UInt8]
    /// The beginning of delimiter lines, with the preceding line end: LF before the first delimiter, which also matches
    /// CRLF. A boundary contains no line end, so the search reads each byte about twice at most, whatever the peer
    /// sends.
    private var delimiter: DelimiterSearch
    private var newline: LineEnd?
    private var state = State.preamble
    /// The bytes to parse. They begin with an artificial line end, as the first delimiter needs none.
    private(set) var buffer: [UInt8] = [.lineFeed]
    /// The number of parsed bytes of the buffer.
    private(set) var position = 0
    private(set) var isFinished = false

    /// - Parameters:
    ///   - boundary: The boundary from the parameter of that name, without the dashes: 1 to 256 bytes without control
    ///     characters.
    ///   - limits: The limits.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for an invalid boundary.
    package init(
        boundary: String, limits: CurlewResponse.MultipartParts.Limits = CurlewResponse.MultipartParts.Limits()
    ) throws {
        let bytes = Array(boundary.utf8)
        guard (1...256).contains(bytes.count), bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), bytes.last != .space
        else { throw CurlewError(.decodingFailed, "the boundary of the multipart body is not valid") }
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

    /// Marks the end of the body.
    package mutating func finish() { isFinished = true }

    /// The next event; nil if more bytes are needed, or the body has ended.
    /// - Throws: ``CurlewError``: ``ErrorCode/responseTruncated`` if the bytes end before the last delimiter,
    ///   ``ErrorCode/decodingFailed`` for unreadable fields, ``ErrorCode/responseHeadTooLarge`` for too many. After an
    ///   error there are no more events.
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
    /// The text after the boundary of a possible delimiter.
    private enum Tail {
        /// The end of a delimiter before another part, which begins at `end`.
        case part(end: Int, LineEnd)
        case last
        case noDelimiter
        case needsMore
    }

    private static let paddingLimit = 256

    /// Reads the text after the boundary.
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

    /// Skips the bytes before the first delimiter; only a possible beginning of the delimiter is kept.
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
        // The line end of the empty line stays in the buffer: the delimiter of a part without a body uses it.
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
            // The preceding bytes are returned first; then the delimiter is found again.
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

    /// The bytes of the body up to a position; nil if there are none.
    private mutating func take(upTo end: Int) -> Step? {
        guard end > position else { return nil }
        defer { position = end }
        if position == 0, end == buffer.count { return .event(.body(buffer)) }
        return .event(.body(Array(buffer[position..<end])))
    }
}
