internal import CZlib

/// zlib's decompression of raw deflate data (RFC 1951). It takes about 8 KiB of memory, and the size of the window when
/// zlib needs it.
///
/// The stream is allocated separately, because zlib keeps its address. It is freed with the object.
final class RawInflater {
    private let stream: UnsafeMutablePointer<z_stream>
    /// True after a final block, until more input is read.
    private(set) var isBehindFinalBlock = false

    /// True if the data so far ends with a complete block and a complete byte, as it does after the four bytes that end
    /// a message.
    var isAtBlockBoundary: Bool {
        // zlib stores the number of unused bits in the lowest six bits, and sets the bit 128 after a block.
        stream.pointee.data_type & 0b1011_1111 == 128
    }

    init(_ window: CurlewWebSocket.Compression.Window) throws(WebSocketViolation) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Versions of zlib before 1.2.9 compress with a window of 2^9 when 2^8 is requested. A peer may use such a
        // version.
        let bits = Int32(max(window.rawValue, 9))
        guard curlew_inflate_init(stream, -bits) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        // The call is harmless for a stream that was never started, because its state is null.
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses a part of the input.
    /// - Parameters:
    ///   - input: Compressed bytes.
    ///   - output: The bytes to append to.
    ///   - count: The maximum number of bytes to append, at least one.
    /// - Returns: The number of input bytes that are used up, and false if zlib holds more output.
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
                    // zlib does not write to its input, although it takes a mutable pointer. Both pointers are valid
                    // only during this call.
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
        // A call without progress is not an error: zlib needs more input or more room.
        case Z_OK, Z_BUF_ERROR: break
        case Z_MEM_ERROR: throw .outOfMemory
        default: throw .corruptCompression
        }
        return (used, isBehindFinalBlock || produced < count)
    }

    /// Begins the next block after a final one (RFC 7692 §7.2.3.4). The window is kept, because the peer may keep its
    /// window. With zlib's dictionary functions, two bytes of a peer could cost a copy of 32 KiB.
    private func continueBehindFinalBlock() throws(WebSocketViolation) {
        guard inflateResetKeep(stream) == Z_OK else { throw .corruptCompression }
        isBehindFinalBlock = false
    }

    /// Resets the stream, including its window.
    func reset() throws(WebSocketViolation) {
        guard inflateReset(stream) == Z_OK else { throw .corruptCompression }
        isBehindFinalBlock = false
    }
}
