import CurlewTesting
import FoundationEssentials
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite("Decoders of content codings", .timeLimit(.minutes(2)))
struct ContentDecoderTests {
    @Test("a body decodes to the same bytes, however its chunks are split", arguments: CodedBodies.codings)
    func pieces(_ coding: ContentCoding) throws {
        for body in [CodedBodies.short, CodedBodies.text, CodedBodies.noise(200_000), [7]] {
            let coded = try coding.encode(body)
            for size in [1, 3, 1000, 65_536, .max] where size > 1 || coded.count < 10_000 {
                #expect(try CodedBodies.decode(coded, [coding.kind], pieces: size, limits: .unbounded) == body)
            }
        }
        #expect(try CodedBodies.decode(coding.encode([]), [coding.kind], pieces: 1) == [])
        #expect(try CodedBodies.decode([], [coding.kind]) == [])
    }

    @Test("a truncated encoded body is an error at every length", arguments: CodedBodies.codings)
    func cutShort(_ coding: ContentCoding) throws {
        let coded = try coding.encode(CodedBodies.short)
        for count in 1..<coded.count {
            for size in [1, 7, .max] {
                let error = #expect(throws: CurlewError.self, "\(count)") {
                    try CodedBodies.decode(Array(coded.prefix(count)), [coding.kind], pieces: size)
                }
                #expect(error?.code == .responseTruncated, "\(count)")
            }
        }
    }

    @Test("bytes after the end of an encoded body are an error", arguments: CodedBodies.codings)
    func trailing(_ coding: ContentCoding) throws {
        let coded = try coding.encode(CodedBodies.short)
        let zeros: [[UInt8]] = coding == .gzip ? [] : [[0], Array(repeating: 0, count: 1000)]
        for tail in [Array("x".utf8), [0, 1], CodedBodies.noise(300_000)] + zeros {
            for size in [1000, coded.count, .max] {
                let error = #expect(throws: CurlewError.self) {
                    try CodedBodies.decode(coded + tail, [coding.kind], pieces: size)
                }
                #expect(error?.code == .contentDecodingFailed)
            }
        }
    }

    @Test("zeros after the end of gzip are padding, and no data may follow them")
    func padding() throws {
        let coded = try ContentCoding.gzip.encode(CodedBodies.short)
        for count in [1, 511, 512, 300_000] {
            for size in [1, 7, coded.count, coded.count + 1, .max] where size > 1 || count < 1000 {
                let padded = coded + [UInt8](repeating: 0, count: count)
                #expect(try CodedBodies.decode(padded, [.gzip], pieces: size) == CodedBodies.short)
                #expect(
                    try CodedBodies.decode(coded + padded, [.gzip], pieces: size) == CodedBodies.short
                        + CodedBodies.short)
                for tail in [coded, [0x1F], [1]] {
                    let error = #expect(throws: CurlewError.self) {
                        try CodedBodies.decode(padded + tail, [.gzip], pieces: size)
                    }
                    #expect(error?.code == .contentDecodingFailed)
                }
            }
        }
    }

    @Test("every changed byte of a gzip body is detected, except in fields without effect")
    func corruptGzip() throws {
        let coded = try ContentCoding.gzip.encode(CodedBodies.short)
        var harmless = 0
        for index in coded.indices where !(4...9).contains(index) {
            for mask in [0x01, 0x80, 0xFF] as [UInt8] {
                var broken = coded
                broken[index] ^= mask
                // Two bits of the head are reserved, and one marks the content as text.
                if index == 3, mask == 0x01 { continue }
                do {
                    // The padding bits of the last byte have no effect.
                    #expect(try CodedBodies.decode(broken, [.gzip]) == CodedBodies.short, "\(index)")
                    harmless += 1
                } catch let error as CurlewError {
                    #expect(error.code == .contentDecodingFailed || error.code == .responseTruncated)
                }
            }
        }
        #expect(harmless <= 2)
    }

    @Test("random bytes are refused as an encoded body", arguments: CodedBodies.codings)
    func noise(_ coding: ContentCoding) throws {
        for start in 0..<50 {
            let bytes = Array(CodedBodies.noise(2000).dropFirst(start))
            #expect(throws: CurlewError.self) { try CodedBodies.decode(bytes, [coding.kind], limits: .unbounded) }
        }
    }

    @Test("gzip may have several members, with all optional header fields")
    func members() throws {
        let first = try CodedBodies.gzipWithFullHead(CodedBodies.short)
        let whole = try first + ContentCoding.gzip.encode([]) + ContentCoding.gzip.encode(CodedBodies.text)
        for size in [1, 5, .max] {
            #expect(
                try CodedBodies.decode(whole, [.gzip], pieces: size, limits: .unbounded)
                    == CodedBodies.short + CodedBodies.text)
        }
        // The checksum of the head is verified.
        var broken = first
        broken[14] ^= 1
        #expect(throws: CurlewError.self) { try CodedBodies.decode(broken, [.gzip]) }
        // A second member that only begins is truncated.
        let error = #expect(throws: CurlewError.self) { try CodedBodies.decode(first + [0x1F], [.gzip]) }
        #expect(error?.code == .responseTruncated)
    }

    @Test("zstd may have several frames, of which some are skipped; older formats are refused")
    func frames() throws {
        let skipped: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
        let frame = try ContentCoding.zstandard.encode(CodedBodies.short)
        for size in [1, 3, .max] {
            #expect(
                try CodedBodies.decode(skipped + frame + frame + skipped, [.zstandard], pieces: size)
                    == CodedBodies.short + CodedBodies.short)
        }
        for version in [0x22, 0x23, 0x24, 0x25, 0x26, 0x27] as [UInt8] {
            let error = #expect(throws: CurlewError.self) {
                try CodedBodies.decode([version] + frame.dropFirst(), [.zstandard])
            }
            #expect(error?.code == .contentDecodingFailed)
        }
        let error = #expect(throws: CurlewError.self) { try CodedBodies.decode(frame + [0x28], [.zstandard]) }
        #expect(error?.code == .responseTruncated)
    }

    @Test("a zstd window has at most 8 MiB")
    func window() throws {
        #expect(try CodedBodies.decode(CodedBodies.zstandardWithWindow(log: 23), [.zstandard]) == Array("x".utf8))
        for log in [24, 31, 41] as [UInt8] {
            let error = #expect(throws: CurlewError.self) {
                try CodedBodies.decode(CodedBodies.zstandardWithWindow(log: log), [.zstandard])
            }
            #expect(error?.code == .contentDecodingFailed)
        }
    }

    @Test("the format of deflate is detected from its first two bytes, in one chunk or two")
    func deflateForms() throws {
        for coding in [ContentCoding.deflate, .rawDeflate] {
            for body in [[], [0], CodedBodies.short, CodedBodies.noise(70_000)] as [[UInt8]] {
                let coded = try coding.encode(body)
                #expect(try CodedBodies.decode(coded, [.deflate]) == body)
                #expect(try CodedBodies.decode(coded, [.deflate], pieces: 1) == body)
            }
        }
        // A raw stored block begins with other bytes than zlib data.
        #expect(try CodedBodies.decode([1, 1, 0, 0xFE, 0xFF, 0x78], [.deflate]) == [0x78])
        // The stream requires an unknown dictionary.
        #expect(throws: CurlewError.self) { try CodedBodies.decode([0x78, 0xBB, 1, 2, 3, 4, 5], [.deflate]) }
    }

    @Test("codings are nested, and each must be complete")
    func nested() throws {
        var coded = CodedBodies.short
        for coding in CodedBodies.codings { coded = try coding.encode(coded) }
        let kinds = CodedBodies.codings.map(\.kind)
        for size in [1, 10, .max] {
            #expect(try CodedBodies.decode(coded, kinds, pieces: size) == CodedBodies.short)
        }
        for broken in [Array(coded.dropLast()), coded + [1]] {
            #expect(throws: CurlewError.self) { try CodedBodies.decode(broken, kinds) }
        }
        // The inner coding is truncated, or followed by other bytes, while the outer one is complete.
        let inner = try ContentCoding.brotli.encode(CodedBodies.short)
        for (bytes, code) in [
            (Array(inner.dropLast()), ErrorCode.responseTruncated), ([], .responseTruncated),
            (inner + [0], .contentDecodingFailed),
        ] {
            let outer = try ContentCoding.gzip.encode(bytes)
            let error = #expect(throws: CurlewError.self) { try CodedBodies.decode(outer, [.brotli, .gzip]) }
            #expect(error?.code == code)
        }
    }

    @Test(
        "a decoded body may have at most a hundred times its encoded size, above the size without a ratio",
        arguments: CodedBodies.codings)
    func bombs(_ coding: ContentCoding) throws {
        let strict = ContentDecoding.Limits(ratioFreeSize: .mebibytes(1))
        let bomb = try coding.encode(Array(repeating: 0, count: 32 << 20))
        let error = #expect(throws: CurlewError.self) { try CodedBodies.decode(bomb, [coding.kind], limits: strict) }
        #expect(error?.code == .responseTooLarge)
        let double = try coding.encode(bomb)
        #expect(throws: CurlewError.self) {
            try CodedBodies.decode(double, [coding.kind, coding.kind], limits: strict)
        }
        #expect(try CodedBodies.decode(bomb, [coding.kind], limits: .unbounded).count == 32 << 20)
        let small = try coding.encode(Array(repeating: 0, count: 1 << 20))
        #expect(try CodedBodies.decode(small, [coding.kind], limits: strict).count == 1 << 20)
        // The limits apply between two codings too, however small the result is.
        var limits = ContentDecoding.Limits(ratio: 3, ratioFreeSize: 1000)
        let padded = try ContentCoding.gzip.encode(
            CodedBodies.skippableFrame(100_000) + ContentCoding.zstandard.encode([1]))
        #expect(throws: CurlewError.self) { try CodedBodies.decode(padded, [.zstandard, .gzip], limits: limits) }
        limits.size = 10
        #expect(throws: CurlewError.self) {
            try CodedBodies.decode(coding.encode(CodedBodies.short), [coding.kind], limits: limits)
        }
        limits.size = ByteSize(CodedBodies.short.count)
        #expect(
            try CodedBodies.decode(coding.encode(CodedBodies.short), [coding.kind], limits: limits) == CodedBodies.short
        )
    }

    @Test("a log with a ratio above a hundred is decoded, because the ratio applies only from 64 MiB on")
    func repetitiveLog() throws {
        let line = Array("2026-11-22T10:00:00Z INFO GET /healthz 200 0.001 curlew/1.0\n".utf8)
        let log = Array(repeatElement(line, count: (16 << 20) / line.count).joined())
        let coded = try ContentCoding.gzip.encode(log)
        #expect(coded.count * 100 < log.count)
        #expect(try CodedBodies.decode(coded, [.gzip]) == log)
        let limits = ContentDecoding.Limits()
        #expect(limits.growth(of: 1) == 64 << 20)
        #expect(limits.growth(of: 1 << 20) == 100 << 20)
    }

    @Test("flushed bytes are decoded before more bytes arrive", arguments: CodedBodies.codings)
    func flushed(_ coding: ContentCoding) throws {
        var stack = DecoderStack(codings: [coding.kind], limits: .unbounded)
        guard case .hungry = try stack.next() else { throw CurlewError(.decodingFailed, "not hungry") }
        try stack.feed(CodedBodies.flushed(CodedBodies.short, coding))
        var output: [UInt8] = []
        while case .piece(let piece) = try stack.next() { output += piece }
        #expect(output == CodedBodies.short)
        try stack.feed(nil)
        #expect(throws: CurlewError.self) { try stack.next() }
    }

    @Test("an infinite or zero ratio or size sets no limit", arguments: [Int.max, 1 << 60, -1, 0])
    func sillyBounds(_ ratio: Int) throws {
        let coded = try ContentCoding.gzip.encode(CodedBodies.short)
        let limits = ContentDecoding.Limits(ratio: ratio, ratioFreeSize: ByteSize(.max))
        #expect(try CodedBodies.decode(coded, [.gzip], limits: limits) == CodedBodies.short)
    }

    @Test("the memory of the decoding libraries is freed, wherever a body is dropped", arguments: CodedBodies.codings)
    func freed(_ coding: ContentCoding) throws {
        let coded = try coding.encode(CodedBodies.noise(100_000))
        func drop() throws {
            var stack = DecoderStack(codings: [coding.kind], limits: .unbounded)
            try stack.feed(Array(coded.prefix(50_000)))
            guard case .piece = try stack.next() else { throw CurlewError(.decodingFailed, "no piece") }
            var broken = DecoderStack(codings: [coding.kind], limits: ContentDecoding.Limits(size: 1))
            try broken.feed(coded)
            #expect(throws: CurlewError.self) { try broken.next() }
        }
        for _ in 0..<50 { try drop() }
        let before = try residentMemory()
        for _ in 0..<500 { try drop() }
        // The smallest decoder state is zlib's, with 40 KiB: a thousand leaked ones would be 40 MB.
        #expect(try residentMemory() < before + (8 << 20))
    }

    /// The resident memory of this process in bytes.
    private func residentMemory() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 4096
    }
}

extension ContentDecoding.Limits {
    static let unbounded = ContentDecoding.Limits(codings: 100, ratio: nil)
}

extension CodedBodies {
    /// A skippable zstd frame of zeros.
    static func skippableFrame(_ count: Int) -> [UInt8] {
        [0x50, 0x2A, 0x4D, 0x18] + (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
            + Array(repeating: 0, count: count)
    }
}
