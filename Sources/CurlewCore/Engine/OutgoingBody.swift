/// The source of a request's body.
enum UploadSource {
    case none
    case bytes([UInt8])
    case channel(UploadChannel)
}

/// The body of an attempt while it is sent, from its first byte on.
struct OutgoingBody {
    /// The result of a read by libcurl.
    enum Provided {
        case bytes(Int)
        case end
        case wait
        case failed(CurlewError)
    }

    /// The source; nil before the first read.
    private var source: UploadSource?
    private let length: Int64?
    private(set) var sentBytes: Int64 = 0
    /// True if libcurl has the complete body.
    private(set) var isSent = false

    /// - Parameter length: The declared length; nil if it is unknown.
    init(length: Int64?) { self.length = length }

    var hasSource: Bool { source != nil }

    mutating func begin(from source: UploadSource) { self.source = source }

    /// Records that the body is empty: libcurl does not read a body without bytes.
    mutating func skip() { isSent = true }

    /// True if bytes are left to copy, so that a rate limit applies.
    var hasMore: Bool {
        switch source {
        case nil, .some(.none): false
        case .bytes(let bytes): Int(sentBytes) < bytes.count
        case .channel: true
        }
    }

    /// Counts sent bytes that do not belong to a body.
    mutating func countSent(_ count: Int) { sentBytes += Int64(count) }

    /// Copies the next bytes into `space`.
    mutating func provide(into space: UnsafeMutableRawBufferPointer) -> Provided {
        switch source {
        case nil, .some(.none): return finish()
        case .bytes(let bytes):
            let offset = Int(sentBytes)
            guard offset < bytes.count else { return finish() }
            let count = min(space.count, bytes.count - offset)
            bytes.withUnsafeBytes {
                space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)]))
            }
            return provided(count)
        case .channel(let channel):
            switch channel.read(into: space) {
            case .bytes(let count): return provided(count)
            case .end: return finish()
            case .wait: return .wait
            case .failure(let error): return .failed(error)
            }
        }
    }

    private mutating func provided(_ count: Int) -> Provided {
        sentBytes += Int64(count)
        if sentBytes == length { isSent = true }
        return .bytes(count)
    }

    private mutating func finish() -> Provided {
        if let length, sentBytes < length {
            return .failed(CurlewError(.bodyLengthMismatch, "the body ended after \(sentBytes) of \(length) bytes"))
        }
        isSent = true
        return .end
    }

    /// Returns to the start of the body. A stream is opened again.
    mutating func rewind() {
        if case .channel(let channel) = source {
            channel.close()
            source = nil
        }
        sentBytes = 0
        isSent = false
    }

    /// Informs the producer that no more bytes are wanted. The channel releases the transfer, which it holds to wake
    /// it.
    mutating func close() {
        if case .channel(let channel) = source { channel.close() }
        source = UploadSource.none
    }
}
