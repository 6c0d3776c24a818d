internal import CLibcurl

/// The chunks of a response's body in the making.
///
/// libcurl hands bodies over in pieces of 16 KiB. What comes within a turn of the loop is gathered, so that its reader is
/// woken less often, and a body that is whole by then needs no channel: into chunks that grow as long as they are filled, and shrink when less comes than they have room for.
/// A peer that sends little at a time so takes up little.
struct BodyAssembly {
    private static let smallestGrown = 4096
    private static let usual = 64 << 10
    private static let largest = 256 << 10

    private let capacity: Int
    private let largest: Int
    /// Where chunks go that do not stay here until the end of the body.
    private(set) var channel: BodyChannel?
    private var chunk: [UInt8] = []
    /// The room that the next chunk is given beyond what comes first.
    private var room = 0
    /// The first bytes of a body that is to be part of an error.
    private(set) var prefix: [UInt8] = []

    /// - Parameter capacity: How much of a body may wait for its reader.
    init(capacity: Int) {
        self.capacity = capacity
        largest = min(Self.largest, capacity / 2)
    }

    /// True if so many more bytes may be taken now; if not, the transfer pauses and the reader will wake it.
    mutating func admits(_ count: Int) -> Bool {
        if channel == nil, chunk.isEmpty || chunk.count + count <= capacity { return true }
        return openChannel().admits(count, pending: chunk.count)
    }

    /// The channel to the reader of a body that has not arrived as a whole.
    mutating func openChannel() -> BodyChannel {
        if let channel { return channel }
        let made = BodyChannel(capacity: capacity)
        channel = made
        return made
    }

    /// The body, if all that has come of it was gathered here.
    mutating func takeWhole() -> [UInt8]? {
        guard channel == nil else { return nil }
        var whole: [UInt8] = []
        swap(&whole, &chunk)
        return whole
    }

    /// Adds bytes.
    /// - Parameters:
    ///   - left: How many bytes of the body are to come, these included, if that is known.
    ///   - keepsPrefix: Whether the body may be part of an error.
    /// - Returns: Whether the transfer is to be woken.
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

    /// Hands over what was gathered in this turn.
    /// - Returns: Whether the transfer is to be woken.
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
