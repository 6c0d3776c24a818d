internal import CLibcurl

/// The assembly of a response's body into chunks.
///
/// libcurl delivers bodies in pieces of 16 KiB. The pieces of a loop turn are joined, so that the reader is woken less
/// often. A body that is then complete needs no channel. The chunks grow while they are filled, and shrink when fewer
/// bytes arrive than they have capacity for. A peer that sends few bytes at a time thus occupies little memory.
struct BodyAssembly {
    private static let smallestGrown = 4096
    private static let usual = 64 << 10
    private static let largest = 256 << 10

    private let capacity: Int
    private let largest: Int
    /// The channel for chunks before the end of the body; nil for a body that fits into one chunk.
    private(set) var channel: BodyChannel?
    private var chunk: [UInt8] = []
    /// The capacity of the next chunk.
    private var room = 0
    /// The first bytes of a body that may be part of an error.
    private(set) var prefix: [UInt8] = []

    /// - Parameter capacity: The greatest number of bytes of a body that wait for their reader.
    init(capacity: Int) {
        self.capacity = capacity
        largest = min(Self.largest, capacity / 2)
    }

    /// True if this number of bytes may be accepted now. Otherwise the transfer pauses, and the reader will wake it.
    mutating func admits(_ count: Int) -> Bool {
        if channel == nil, chunk.isEmpty || chunk.count + count <= capacity { return true }
        return openChannel().admits(count, pending: chunk.count)
    }

    /// The channel to the reader of a body that is not yet complete.
    mutating func openChannel() -> BodyChannel {
        if let channel { return channel }
        let made = BodyChannel(capacity: capacity)
        channel = made
        return made
    }

    /// Returns the body, if all its bytes are still here; nil if a channel was opened.
    mutating func takeWhole() -> [UInt8]? {
        guard channel == nil else { return nil }
        var whole: [UInt8] = []
        swap(&whole, &chunk)
        return whole
    }

    /// Adds bytes.
    /// - Parameters:
    ///   - left: The number of remaining bytes of the body, including these; nil if it is unknown.
    ///   - keepsPrefix: True if the body may be part of an error.
    /// - Returns: True if the transfer must be woken.
    mutating func append(_ bytes: UnsafeRawBufferPointer, left: Int64?, keepsPrefix: Bool) -> Bool {
        var wakes = false
        if !chunk.isEmpty, chunk.count + bytes.count > chunk.capacity {
            room = min(largest, max(Self.smallestGrown, 4 * chunk.capacity))
            wakes = flush(keepsPrefix: keepsPrefix)
        }
        if chunk.isEmpty { begin(bytes.count, left: left) }
        chunk.append(contentsOf: bytes)
        return wakes
    }

    private mutating func begin(_ count: Int, left: Int64?) {
        var capacity = max(count, room)
        if count >= Int(CURL_MAX_WRITE_SIZE) { capacity = max(capacity, min(Self.usual, largest)) }
        if let left { capacity = min(capacity, Int(clamping: max(Int64(count), left))) }
        if capacity >= BodyChannel.smallestRecycled, let channel { chunk = channel.takeSpare(for: capacity) }
        chunk.reserveCapacity(capacity)
    }

    /// Passes on the bytes of this turn.
    /// - Returns: True if the transfer must be woken.
    mutating func endTurn(keepsPrefix: Bool) -> Bool {
        guard !chunk.isEmpty else { return false }
        if chunk.count < room / 4 { room = 2 * chunk.count }
        return flush(keepsPrefix: keepsPrefix)
    }

    private mutating func flush(keepsPrefix: Bool) -> Bool {
        if prefix.isEmpty, keepsPrefix { prefix = Array(chunk.prefix(CurlewError.bodyPrefixLimit)) }
        var whole: [UInt8] = []
        swap(&whole, &chunk)
        return openChannel().append(consume whole)
    }
}
