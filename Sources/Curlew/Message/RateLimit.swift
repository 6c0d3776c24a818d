/// How fast the bytes of bodies may flow, each way, in bytes a second.
///
/// It holds for a task (``RequestOptions/rateLimit``, ``TaskActor/setRateLimit(_:)``), and for all tasks of a session together
/// (``SessionConfiguration/rateLimit``, ``SessionActor/setRateLimit(_:)``); where there are both, a byte has to satisfy both.
/// It can be changed at any moment, and what it is changed to holds at once.
///
/// Bytes are counted as they go over the wire: after chunked coding, before content decoding. Heads do not count. What would be
/// too much waits: the transfer is paused, as by ``TaskActor/suspend()``, and the peer's sending is held back by TCP's and
/// HTTP/2's flow control. Such a wait is no silence (``Timeouts/idle``), but the total time runs.
///
/// A tenth of a second's bytes may pass at once. Bytes are received in pieces of up to 16 KiB, or
/// ``RequestOptions/readBufferSize`` if that is less; a piece is not divided, so that what was received may be ahead of the limit
/// by one piece, which is then waited for. Sending keeps to it to the byte.
public struct RateLimit: Sendable, Hashable, Codable {
    /// Bytes of request bodies a second. nil is no limit; less than 1 counts as 1.
    public var sending: ByteSize?
    /// Bytes of response bodies a second. nil is no limit; less than 1 counts as 1.
    public var receiving: ByteSize?

    public init(sending: ByteSize? = nil, receiving: ByteSize? = nil) {
        self.sending = sending
        self.receiving = receiving
    }

    /// No limit either way.
    public static let none = RateLimit()
}
