import CBrotliEncoder
import CZlib
import CZstd
import CurlewTesting
import HTTPTypes
import Testing

@testable import CurlewCore
@testable import CurlewLoad

/// Encoded bodies, for the tests of the decoders.
enum CodedBodies {
    static let codings: [ContentCoding] = [.gzip, .deflate, .rawDeflate, .brotli, .zstandard]
    static let text = Array(repeating: Array("curlews whistle. ".utf8), count: 20_000).flatMap { $0 }
    static let short = Array("curlews whistle over the marsh, over the marsh they whistle".utf8)

    /// Incompressible bytes, equal in each run.
    static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 88_172_645_463_325_252
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    /// A gzip member with every optional header field (RFC 1952 §2.3).
    static func gzipWithFullHead(_ bytes: [UInt8]) throws -> [UInt8] {
        let plain = try ContentCoding.gzip.encode(bytes)
        var head: [UInt8] = [0x1F, 0x8B, 8, 0x1F, 1, 2, 3, 4, 0, 255]
        head += [5, 0] + Array("extra".utf8) + Array("name.txt".utf8) + [0] + Array("a comment".utf8) + [0]
        let check = crc32(0, head, UInt32(head.count))
        head += [UInt8(truncatingIfNeeded: check), UInt8(truncatingIfNeeded: check >> 8)]
        return head + plain.dropFirst(10)
    }

    /// A zstd frame of one byte that requires a window of 2^`log` bytes (RFC 8878 §3.1.1).
    static func zstandardWithWindow(log: UInt8) -> [UInt8] {
        [0x28, 0xB5, 0x2F, 0xFD, 0x00, (log - 10) << 3, 0x09, 0, 0, UInt8(ascii: "x")]
    }

    /// The flushed beginning of an unfinished body.
    static func flushed(_ bytes: [UInt8], _ coding: ContentCoding) throws -> [UInt8] {
        var bytes = bytes
        let count = bytes.count
        return try bytes.withUnsafeMutableBufferPointer { source in
            try [UInt8](unsafeUninitializedCapacity: 1000) { target, filled in
                switch coding {
                case .brotli:
                    let state = try #require(BrotliEncoderCreateInstance(nil, nil, nil))
                    defer { BrotliEncoderDestroyInstance(state) }
                    var (available, room) = (count, 1000)
                    var (position, end) = (UnsafePointer(source.baseAddress), target.baseAddress)
                    let result = BrotliEncoderCompressStream(
                        state, BROTLI_OPERATION_FLUSH, &available, &position, &room, &end, nil)
                    try #require(result == BROTLI_TRUE && available == 0)
                    filled = 1000 - room
                case .zstandard:
                    let context = try #require(ZSTD_createCCtx())
                    defer { ZSTD_freeCCtx(context) }
                    var into = ZSTD_outBuffer(dst: target.baseAddress, size: 1000, pos: 0)
                    var from = ZSTD_inBuffer(src: source.baseAddress, size: count, pos: 0)
                    try #require(ZSTD_compressStream2(context, &into, &from, ZSTD_e_flush) == 0)
                    filled = into.pos
                default:
                    var stream = z_stream()
                    let bits: Int32 = coding == .gzip ? 31 : coding == .deflate ? 15 : -15
                    try #require(curlew_deflate_init(&stream, 6, bits) == Z_OK)
                    defer { deflateEnd(&stream) }
                    stream.next_in = source.baseAddress
                    stream.avail_in = UInt32(count)
                    stream.next_out = target.baseAddress
                    stream.avail_out = 1000
                    try #require(deflate(&stream, Z_SYNC_FLUSH) == Z_OK)
                    filled = 1000 - Int(stream.avail_out)
                }
            }
        }
    }

    /// A body that passes the decoders in chunks of the given size.
    static func decode(
        _ bytes: [UInt8], _ kinds: [ContentDecoderKind], pieces size: Int = .max,
        limits: ContentDecoding.Limits = ContentDecoding.Limits()
    ) throws -> [UInt8] {
        var stack = DecoderStack(codings: kinds, limits: limits)
        var output: [UInt8] = []
        var rest = bytes[...]
        while true {
            switch try stack.next() {
            case .end: return output
            case .piece(let piece):
                #expect(!piece.isEmpty && piece.count <= DecodedChunks.pieceSize)
                output += piece
            case .hungry:
                try stack.feed(rest.isEmpty ? nil : Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
        }
    }
}

extension ContentCoding {
    /// The decoder of the coding.
    var kind: ContentDecoderKind { ContentDecoderKind(name: name)! }
}
