internal import CZlib

/// One run of zlib's compression. Memory: zlib's 256 KiB, whatever goes through.
///
/// The stream lies in memory of its own because zlib keeps its address. It is freed with the object.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` if zlib has no memory.
    init(format: RequestCompression.Format, level: Int) throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = curlew_deflate_init(stream, Int32(min(max(level, 1), 9)), format.windowBits)
        guard status == Z_OK else {
            throw CurlewError(.resourcesExhausted, "zlib could not be started")
        }
    }

    deinit {
        // Harmless on a stream that was never started: its state is null.
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses some of the input.
    /// - Parameters:
    ///   - input: Bytes; what is used up is taken off.
    ///   - isLast: Whether nothing comes after the input.
    ///   - count: The most bytes to bring.
    /// - Returns: The bytes, and whether they end the stream.
    func compress(_ input: inout ArraySlice<UInt8>, isLast: Bool, upTo count: Int) throws -> ([UInt8], Bool) {
        var status = Z_OK
        var used = 0
        let output = [UInt8](unsafeUninitializedCapacity: count) { target, filled in
            input.withUnsafeBufferPointer { source in
                // zlib does not write to its input, though it takes a pointer that could. Both pointers end with this call.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                stream.pointee.avail_in = UInt32(min(source.count, Int(UInt32.max)))
                let given = stream.pointee.avail_in
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(target.count)
                let isAll = Int(given) == source.count
                status = deflate(stream, isLast && isAll ? Z_FINISH : Z_NO_FLUSH)
                used = Int(given - stream.pointee.avail_in)
                filled = target.count - Int(stream.pointee.avail_out)
                stream.pointee.next_in = nil
                stream.pointee.next_out = nil
            }
        }
        // No progress is no error: it asks for more input or more room.
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
            throw CurlewError(.encodingFailed, "zlib failed with \(status)")
        }
        input = input.dropFirst(used)
        return (output, status == Z_STREAM_END)
    }
}
