/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Hashable {
    /// The event's name; `message` if the server gave none.
    public var type: String
    /// The data lines, joined with LF.
    public var data: String
    /// The identifier of the newest event that had one, this or an earlier; empty if there was none.
    public var lastEventID: String

    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}

/// Bounds on a stream of events.
public struct ServerSentEventLimits: Sendable, Hashable {
    /// The longest line in bytes. 1 MiB by default.
    public var line: ByteCount
    /// The most bytes of data in one event. 16 MiB by default.
    public var event: ByteCount

    public init(line: ByteCount = .mebibytes(1), event: ByteCount = .mebibytes(16)) {
        self.line = line
        self.event = event
    }
}
