#if TestKit
#if Brotli
internal import CBrotliEncoder
#endif
internal import CZlib
#if Zstandard
internal import CZstd
#endif

/// A content coding (RFC 9110, section 8.4.1), encoded by its reference library.
public struct ContentCoding: Sendable, Hashable {
    enum Kind {
        case gzip, deflate, rawDeflate
        #if Brotli
        case brotli
        #endif
        #if Zstandard
        case zstandard
        #endif
    }

    let kind: Kind
    /// The name in `Content-Encoding`.
    public let name: String

    /// gzip (RFC 1952).
    public static let gzip = ContentCoding(kind: .gzip, name: "gzip")
    /// deflate as specified: the zlib format (RFC 1950).
    public static let deflate = ContentCoding(kind: .deflate, name: "deflate")
    /// deflate as some servers send it: without the zlib header and trailer (RFC 1951).
    public static let rawDeflate = ContentCoding(kind: .rawDeflate, name: "deflate")
    #if Brotli
    /// Brotli (RFC 7932); needs the trait `Brotli`.
    public static let brotli = ContentCoding(kind: .brotli, name: "br")
    #endif
    #if Zstandard
    /// Zstandard (RFC 8878); needs the trait `Zstandard`.
    public static let zstandard = ContentCoding(kind: .zstandard, name: "zstd")
    #endif

    /// Encodes `bytes`.
    ///
    /// - Throws: ``TestKitError`` when the library fails.
    public func encode(_ bytes: [UInt8]) throws -> [UInt8] {
        switch self.kind {
        case .gzip: try Self.deflate(bytes, windowBits: 15 + 16)
        case .deflate: try Self.deflate(bytes, windowBits: 15)
        case .rawDeflate: try Self.deflate(bytes, windowBits: -15)
        #if Brotli
        case .brotli: try Self.brotli(bytes)
        #endif
        #if Zstandard
        case .zstandard: try Self.zstandard(bytes)
        #endif
        }
    }

    private static func deflate(_ bytes: [UInt8], windowBits: Int32) throws -> [UInt8] {
        var stream = z_stream()
        guard curlew_deflate_init(&stream, 6, windowBits) == Z_OK else { throw TestKitError("zlib did not start") }
        defer { deflateEnd(&stream) }
        // The gzip header and trailer have at least 18 bytes, which `deflateBound` may not include.
        let bound = Int(deflateBound(&stream, UInt(bytes.count))) + 32
        var input = bytes
        return try input.withUnsafeMutableBufferPointer { source in
            try [UInt8](unsafeUninitializedCapacity: bound) { target, count in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(bound)
                guard CZlib.deflate(&stream, Z_FINISH) == Z_STREAM_END else { throw TestKitError("zlib failed") }
                count = bound - Int(stream.avail_out)
            }
        }
    }

    #if Brotli
    private static func brotli(_ bytes: [UInt8]) throws -> [UInt8] {
        let bound = max(16, BrotliEncoderMaxCompressedSize(bytes.count))
        return try [UInt8](unsafeUninitializedCapacity: bound) { target, count in
            guard let start = target.baseAddress else { throw TestKitError("no memory for brotli") }
            var length = bound
            let result = BrotliEncoderCompress(
                5,
                BROTLI_DEFAULT_WINDOW,
                BROTLI_MODE_GENERIC,
                bytes.count,
                bytes,
                &length,
                start
            )
            guard result == BROTLI_TRUE else { throw TestKitError("brotli failed") }
            count = length
        }
    }
    #endif

    #if Zstandard
    private static func zstandard(_ bytes: [UInt8]) throws -> [UInt8] {
        let bound = ZSTD_compressBound(bytes.count)
        return try [UInt8](unsafeUninitializedCapacity: bound) { target, count in
            let length = ZSTD_compress(target.baseAddress, bound, bytes, bytes.count, 3)
            guard ZSTD_isError(length) == 0 else { throw TestKitError("zstd failed") }
            count = length
        }
    }
    #endif
}
#endif
