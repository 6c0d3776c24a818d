/// Parses a `text/event-stream` (WHATWG HTML §9.2.6), whatever the chunks. It is a pure value and accepts any input.
package struct ServerSentEventParser {
    private let limits: ServerSentEvent.Limits
    private var line: [UInt8] = []
    /// True if the last byte was a CR: then a following LF belongs to it.
    private var endedWithReturn = false
    /// True if a byte order mark may still come.
    private var isAtStart = true
    private var data: [UInt8] = []
    private var hasData = false
    private var type = ""
    private var identifier: String
    private var failure: CurlewError?

    /// The identifier for resuming: the last one up to the latest complete event.
    package private(set) var lastEventID: String
    /// The wait before reconnecting, if the server has set one.
    package private(set) var reconnectionTime: Duration?

    /// - Parameter lastEventID: The identifier of an earlier connection.
    package init(limits: ServerSentEvent.Limits = ServerSentEvent.Limits(), lastEventID: String = "") {
        self.limits = limits
        self.lastEventID = lastEventID
        identifier = lastEventID
    }

    /// Parses the next bytes.
    /// - Returns: The events that end in them. An incomplete event is kept for the next bytes; at the end of the stream
    ///   it is dropped.
    /// - Throws: ``CurlewError`` with ``ErrorCode/responseTooLarge`` for a line or an event beyond its limit. Events
    ///   that ended earlier in the same bytes are returned first; then the next call, or ``check()``, throws.
    package mutating func consume(_ bytes: [UInt8]) throws -> [ServerSentEvent] {
        try check()
        var events: [ServerSentEvent] = []
        do throws(CurlewError) {
            try consume(bytes, into: &events)
        } catch {
            failure = error
            if events.isEmpty { throw error }
        }
        return events
    }

    /// - Throws: The error of bytes whose valid part was already returned.
    package func check() throws {
        if let failure { throw failure }
    }

    private mutating func consume(_ bytes: [UInt8], into events: inout [ServerSentEvent]) throws(CurlewError) {
        var position = bytes.startIndex
        while position < bytes.endIndex {
            if endedWithReturn {
                endedWithReturn = false
                if bytes[position] == .lineFeed {
                    position += 1
                    continue
                }
            }
            let end = bytes[position...].firstIndex { $0 == .lineFeed || $0 == .carriageReturn } ?? bytes.endIndex
            guard line.count + (end - position) <= limits.line.bytes else {
                throw CurlewError(
                    .responseTooLarge, "a line of the event stream is longer than \(limits.line)")
            }
            line.append(contentsOf: bytes[position..<end])
            guard end < bytes.endIndex else { break }
            endedWithReturn = bytes[end] == .carriageReturn
            position = end + 1
            if let event = try takeLine() { events.append(event) }
        }
    }

    private mutating func takeLine() throws(CurlewError) -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        if isAtStart {
            isAtStart = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        guard !line.isEmpty else { return dispatch() }
        guard let colon = line.firstIndex(of: .colon) else {
            try take(field: line[...], value: [])
            return nil
        }
        // A line that begins with a colon is a comment.
        guard colon > 0 else { return nil }
        let value = line[(colon + 1)...]
        try take(field: line[..<colon], value: value.first == .space ? value.dropFirst() : value)
        return nil
    }

    private mutating func take(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) throws(CurlewError) {
        if field.elementsEqual("data".utf8) {
            guard data.count + (hasData ? 1 : 0) + value.count <= limits.event.bytes else {
                throw CurlewError(.responseTooLarge, "an event is larger than \(limits.event)")
            }
            if hasData { data.append(.lineFeed) }
            hasData = true
            data.append(contentsOf: value)
        } else if field.elementsEqual("event".utf8) {
            type = String(decoding: value, as: UTF8.self)
        } else if field.elementsEqual("id".utf8) {
            if !value.contains(0) { identifier = String(decoding: value, as: UTF8.self) }
        } else if field.elementsEqual("retry".utf8) {
            takeReconnectionTime(value)
        }
    }

    private mutating func takeReconnectionTime(_ value: ArraySlice<UInt8>) {
        guard !value.isEmpty, value.allSatisfy(\.isDigit) else { return }
        // The limit of about thirty years prevents an overflow.
        let milliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
        reconnectionTime = .milliseconds(min(milliseconds, 1_000_000_000_000))
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = identifier
        defer {
            data = []
            hasData = false
            type = ""
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            type: type.isEmpty ? "message" : type, data: String(decoding: data, as: UTF8.self), lastEventID: lastEventID
        )
    }
}
