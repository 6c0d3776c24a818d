internal import CZlib

/// zlib's compression to raw deflate data (RFC 1951). It takes 256 KiB of memory with the largest window, and 132 KiB
/// with the smallest.
///
/// The stream is allocated separately, because zlib keeps its address. It is freed with the object.
final class RawDeflater {
    private let stream: UnsafeMutablePointer<z_stream>

    init(_ window: CurlewWebSocket.Compression.Window, level: Int) throws(WebSocketViolation) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let level = Int32(min(max(level, 1), 9))
        // zlib has no window of 2^8 for raw data. Some versions refuse it, and others silently use 2^9.
        let bits = Int32(max(window.rawValue, 9))
        guard curlew_deflate_init(stream, level, -bits) == Z_OK else { throw .outOfMemory }
        guard window == .bits8 else { return }
        // A run of one byte refers only to the preceding byte, which is inside every window.
        guard deflateParams(stream, level, Z_RLE) == Z_OK else { throw .outOfMemory }
    }

    deinit {
        // The call is harmless for a stream that was never started, because its state is null.
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses all of the input and flushes the output. The output ends with `00 00 FF FF`; it is empty if there was
    /// nothing to flush.
    func deflate(_ input: RawSpan, into output: inout [UInt8]) throws(WebSocketViolation) {
        var offset = 0
        var isFlushed = false
        while !isFlushed {
            let rest = input.extracting(droppingFirst: offset)
            // zlib's bound covers the input. The flush and pending bits take a few more bytes.
            let room = Int(deflateBound(stream, UInt(min(rest.byteCount, 256 << 10)))) + 16
            let (used, isDrained) = try step(rest, into: &output, upTo: room)
            offset += used
            isFlushed = isDrained && offset == input.byteCount
        }
    }

    private func step(
        _ input: RawSpan, into output: inout [UInt8], upTo count: Int
    ) throws(WebSocketViolation) -> (used: Int, isDrained: Bool) {
        var status = Z_OK
        var used = 0
        var isDrained = false
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
                    status = CZlib.deflate(stream, Int(given) == source.count ? Z_SYNC_FLUSH : Z_NO_FLUSH)
                    used = Int(given - stream.pointee.avail_in)
                    isDrained = stream.pointee.avail_out > 0
                    filled += Int(room - stream.pointee.avail_out)
                    stream.pointee.next_in = nil
                    stream.pointee.next_out = nil
                }
            }
        }
        // A call without progress is not an error: there was nothing to flush.
        guard status == Z_OK || status == Z_BUF_ERROR else { throw .outOfMemory }
        return (used, isDrained)
    }

    /// Resets the stream, except for its level and its window.
    func reset() throws(WebSocketViolation) {
        guard deflateReset(stream) == Z_OK else { throw .outOfMemory }
    }
}
