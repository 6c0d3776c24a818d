internal import HTTPTypes

/// The reading end of a body that arrives while it is read. Dropping it before the end was read ends the transfer beneath.
protocol BodySource: AnyObject, Sendable {
    /// The next chunk, never an empty one; nil at the end. One reader at a time.
    func next() async throws -> [UInt8]?

    /// Skips what has arrived, without waiting.
    /// - Parameter limit: How many bytes to skip at most; what is left of it afterwards.
    /// - Returns: Whether there is no more to do: the body has ended, or is too long.
    func skip(_ limit: inout Int) -> Bool

    /// Ends the transfer, unless it has ended.
    func cancel()

    /// Takes the memory of a chunk back, to be filled again. It is worth while from ``CurlewResponse/Body/smallestRecycled`` on.
    func recycle(_ chunk: inout [UInt8])

    /// True if all of the body has arrived, or it has broken off.
    var hasEnded: Bool { get }

    /// The fields that came after the body.
    var trailers: HTTPFields { get }
}
