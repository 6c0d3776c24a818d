/// What the engine reads a request's body from.
enum UploadSource {
    case none
    case bytes([UInt8])
    case channel(UploadChannel)
}

/// The body of one attempt as it is sent, from its first byte on.
struct OutgoingBody {
    /// What the engine is given of the body.
    enum Provided {
        case bytes(Int)
        case end
        case wait
        case failed(CurlewError)
    }

    /// nil as long as nobody has asked for a byte.
    private var source: UploadSource?
    private let length: Int64?
    private(set) var sentBytes: Int64 = 0
    /// True if the engine has all of it.
    private(set) var isSent = false

    /// - Parameter length: The bytes that were promised; nil if that is not known.
    init(length: Int64?) { self.length = length }

    var hasSource: Bool { source != nil }

    mutating func begin(from source: UploadSource) { self.source = source }

    /// There is nothing to send: libcurl does not ask for a body without bytes.
    mutating func skip() { isSent = true }

    /// True if there is something to copy, so that a limit of rate has a say.
    var hasMore: Bool {
        switch source {
        case nil, .some(.none): false
        case .bytes(let bytes): Int(sentBytes) < bytes.count
        case .channel: true
        }
    }

    /// Bytes were sent that are no body.
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

    /// Goes back to the start of the body. A stream is asked for anew.
    mutating func rewind() {
        if case .channel(let channel) = source {
            channel.close()
            source = nil
        }
        sentBytes = 0
        isSent = false
    }

    /// Lets the producer know that nothing more of it is wanted, and the channel no more of the transfer, which it knows so
    /// that it can wake it.
    mutating func close() {
        if case .channel(let channel) = source { channel.close() }
        source = UploadSource.none
    }
}
