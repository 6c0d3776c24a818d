internal import CZlib

/// zlib's decompression of data without a frame (RFC 1951). Memory: a window of its size, when it is needed, and some 8
/// KiB.
///
/// The stream lies in memory of its own because zlib keeps its address. It is freed with the object.
final class RawInflater {
    private let stream: UnsafeMutablePointer<z_stream>
    /// True behind a final block, until more input comes.
    private(set) var isBehindFinalBlock = false

    /// True if the data so far ends with a whole block and a whole byte: as the four bytes that end a message leave it.
    var isAtBlockBoundary: Bool {
        // zlib counts unused bits in the lowest six, and marks the place behind a block with 128.
        stream.pointee.data_type & 0b1011_1111 == 128
    }

    init(_ window: CurlewWebSocket.Compression.Window) throws(WebSocketViolation) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Versions of zlib before 1.2.9 compress with a window of 2^9 where 2^8 is asked for, and so may a peer.
        let bits = Int32(max(window.rawValue, 9))
        guard curlew_inflate_init(stream, -bits) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        // Harmless on a stream that was never started: its state is null.
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses some of the input.
    /// - Parameters:
    ///   - input: Compressed bytes.
    ///   - output: The bytes to append to.
    ///   - count: The most bytes to append, at least one.
    /// - Returns: The number of bytes of the input that are used up, and false if more output waits inside zlib.
    func inflate(
        _ input: RawSpan, into output: inout [UInt8], upTo count: Int
    ) throws(WebSocketViolation) -> (used: Int, isDrained: Bool) {
        if isBehindFinalBlock, !input.isEmpty { try continueBehindFinalBlock() }
        var status = Z_OK
        var used = 0
        var produced = 0
        input.withUnsafeBytes { source in
            output.append(addingCapacity: count) { (target: inout OutputSpan<UInt8>) in
                target.withUnsafeMutableBufferPointer { target, filled in
                    // zlib does not write to its input, though it takes a pointer that could. Both pointers end with
                    // this call.
                    let given = UInt32(min(source.count, Int(UInt32.max)))
                    let room = UInt32(min(count, target.count - filled))
                    stream.pointee.next_in = UnsafeMutablePointer(
                        mutating: source.baseAddress?.assumingMemoryBound(to: UInt8.self))
                    stream.pointee.avail_in = given
                    stream.pointee.next_out = target.baseAddress.map { $0 + filled }
                    stream.pointee.avail_out = room
                    status = CZlib.inflate(stream, Z_SYNC_FLUSH)
                    used = Int(given - stream.pointee.avail_in)
                    produced = Int(room - stream.pointee.avail_out)
                    filled += produced
                    stream.pointee.next_in = nil
                    stream.pointee.next_out = nil
                }
            }
        }
        switch status {
        case Z_STREAM_END: isBehindFinalBlock = true
        // No progress is no error: it asks for more input or more room.
        case Z_OK, Z_BUF_ERROR: break
        case Z_MEM_ERROR: throw .outOfMemory
        default: throw .corruptCompression
        }
        return (used, isBehindFinalBlock || produced < count)
    }

    /// Begins the next block after a final one (RFC 7692 §7.2.3.4). The window stays: the peer's may stay, too. To copy
    /// it out and in again by the functions for dictionaries would let two bytes of a peer cost a copy of 32 KiB.
    private func continueBehindFinalBlock() throws(WebSocketViolation) {
        guard inflateResetKeep(stream) == Z_OK else { throw .corruptCompression }
        isBehindFinalBlock = false
    }

    /// Forgets everything.
    func reset() throws(WebSocketViolation) {
        guard inflateReset(stream) == Z_OK else { throw .corruptCompression }
        isBehindFinalBlock = false
    }
}
