internal import HTTPTypes

/// The reading end of a body that is still being received.
/// Releasing it before the end was read cancels its transfer.
protocol BodySource: AnyObject, Sendable {
    /// The next chunk, never an empty one; nil at the end. One reader at a time.
    func next() async throws -> [UInt8]?

    /// Skips the bytes that have arrived, without waiting.
    /// - Parameter limit: The most bytes to skip; on return, the rest of this number.
    /// - Returns: True if nothing remains to skip: the body has ended, or it is longer than the limit.
    func skip(_ limit: inout Int) -> Bool

    /// Cancels the transfer, unless it has ended.
    func cancel()

    /// Takes the memory of a chunk back for reuse. Reuse pays from ``CurlewResponse/Body/smallestRecycled`` bytes on.
    func recycle(_ chunk: inout [UInt8])

    /// True if the body has arrived completely, or was broken off.
    var hasEnded: Bool { get }

    /// The fields that followed the body.
    var trailers: HTTPFields { get }
}
