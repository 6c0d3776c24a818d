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
/// - What stands before the first delimiter and behind the last is passed over.
package struct MultipartParser: Sendable {
    /// What was found.
    package enum Event: Sendable, Equatable {
        /// A part begins; these are its fields.
        case head(HTTPFields)
        /// Bytes of the part's body; never none.
        case body([UInt8])
        /// The part is whole.
        case partEnd
        /// The last delimiter was there. What is appended now is passed over.
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

    /// What one step came to.
    enum Step {
        case event(Event)
        case goesOn
        case needsMore
    }

    let limits: MultipartLimits
    /// `--` and the boundary.
    let dashed: [UInt8]
    /// What delimiter lines begin with, and the line end before it: before the first delimiter LF, which CRLF ends with too.
    /// As no boundary holds a line end, the search never looks at a byte more than twice or so, whatever the peer sends.
    var delimiter: DelimiterSearch
    var newline: LineEnd?
    var state = State.preamble
    /// It begins with the end of a line that is not there, since the first delimiter needs none.
    var buffer: [UInt8] = [.lineFeed]
    /// How much of the buffer is done with.
    var position = 0
    private(set) var isFinished = false

    /// - Parameters:
    ///   - boundary: From the parameter of that name, without the dashes: 1 to 256 bytes without control characters.
    ///   - limits: The bounds.
    /// - Throws: ``CurlewError`` with ``ErrorCode/decodingFailed`` for what cannot be a boundary.
    package init(boundary: String, limits: MultipartLimits = MultipartLimits()) throws {
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
