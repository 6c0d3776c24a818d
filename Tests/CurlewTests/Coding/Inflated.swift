import CZlib
import Testing

/// The original of gzip or zlib data; an error if it is truncated or followed by other bytes.
func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    try #require(curlew_inflate_init(&stream, 15 + 32) == Z_OK)
    defer { inflateEnd(&stream) }
    var output: [UInt8] = []
    var input = bytes
    try input.withUnsafeMutableBufferPointer { source in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        var status = Z_OK
        while status == Z_OK {
            output += [UInt8](unsafeUninitializedCapacity: 1 << 16) { target, count in
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                status = inflate(&stream, Z_NO_FLUSH)
                count = target.count - Int(stream.avail_out)
            }
        }
        try #require(status == Z_STREAM_END)
        try #require(stream.avail_in == 0)
    }
    return output
}
