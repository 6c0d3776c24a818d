/// The limits of the flow of body bytes in each direction, in bytes per second.
///
/// A limit applies to a task (``RequestOptions/rateLimit``, ``TaskActor/setRateLimit(_:)``), or to all tasks of a
/// session together (``SessionConfiguration/rateLimit``, ``SessionActor/setRateLimit(_:)``). Where both exist, both
/// apply. A limit can be changed at any moment and takes effect at once.
///
/// Bytes are counted on the wire: after chunked coding, before content decoding. Heads do not count. At the limit the
/// transfer is paused, as by ``TaskActor/suspend()``, and the flow control of TCP and HTTP/2 slows the peer down. Such
/// a pause does not count for ``Timeouts/idle``, but for the total time.
///
/// The bytes of a tenth of a second may pass at once. Bytes are received in pieces of up to 16 KiB, or
/// ``RequestOptions/readBufferSize`` if that is less. A piece is never divided, so receiving may exceed the limit by
/// one piece, and then pauses. Sending never exceeds the limit.
public struct RateLimit: Sendable, Hashable, Codable {
    /// Bytes of request bodies per second. nil means no limit; less than 1 counts as 1.
    public var sending: ByteSize?
    /// Bytes of response bodies per second. nil means no limit; less than 1 counts as 1.
    public var receiving: ByteSize?

    public init(sending: ByteSize? = nil, receiving: ByteSize? = nil) {
        self.sending = sending
        self.receiving = receiving
    }

    /// No limit in either direction.
    public static let none = RateLimit()
}
