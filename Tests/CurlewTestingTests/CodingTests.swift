import CBrotli
import CZlib
import CZstd
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("ContentCoding")
struct CodingTests {
    private let bytes = BytePattern.bytes(count: 100_000)

    @Test(
        "zlib decodes the gzip and deflate bodies that the test kit encodes",
        arguments: [
            (ContentCoding.gzip, Int32(31)), (.deflate, 15), (.rawDeflate, -15),
        ]
    )
    func zlib(_ coding: ContentCoding, windowBits: Int32) throws {
        var coded = try coding.encode(self.bytes)
        var decoded = [UInt8](repeating: 0, count: self.bytes.count)
        var stream = z_stream()
        #expect(curlew_inflate_init(&stream, windowBits) == Z_OK)
        defer { inflateEnd(&stream) }
        let result = coded.withUnsafeMutableBufferPointer { source in
            decoded.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                return inflate(&stream, Z_FINISH)
            }
        }
        #expect(result == Z_STREAM_END)
        #expect(decoded == self.bytes)
    }

    @Test("brotli decodes the bodies that the test kit encodes")
    func brotli() throws {
        let coded = try ContentCoding.brotli.encode(self.bytes)
        var decoded = [UInt8](repeating: 0, count: self.bytes.count)
        var length = decoded.count
        #expect(BrotliDecoderDecompress(coded.count, coded, &length, &decoded) == BROTLI_DECODER_RESULT_SUCCESS)
        #expect(decoded == self.bytes)
    }

    @Test("zstd decodes the bodies that the test kit encodes")
    func zstandard() throws {
        let coded = try ContentCoding.zstandard.encode(self.bytes)
        var decoded = [UInt8](repeating: 0, count: self.bytes.count)
        #expect(ZSTD_decompress(&decoded, decoded.count, coded, coded.count) == decoded.count)
        #expect(decoded == self.bytes)
    }

    @Test("several codings are listed in Content-Encoding, and an empty body can be encoded")
    func fields() throws {
        let response = try MockResponse(body: "x").encoded(.gzip).encoded(.brotli)
        #expect(response.fields[.contentEncoding] == "gzip, br")
        for coding in [ContentCoding.gzip, .deflate, .rawDeflate, .brotli, .zstandard] {
            #expect(try !coding.encode([]).isEmpty)
        }
    }
}
