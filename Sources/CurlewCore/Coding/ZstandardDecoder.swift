#if Zstandard
internal import CZstd

/// A decoder for Zstandard (RFC 8878), including several frames. Memory: a window of at most 8 MiB (RFC 9659), and
/// about 300 KiB.
///
/// The library owns the context, which is freed with the object.
final class ZstandardDecoder: ContentDecoder {
    private let context: OpaquePointer
    /// The first bytes of a frame's magic number, until all four have arrived.
    private var magic: [UInt8] = []
    private var isInFrame = false
    private var hasFrame = false
    /// True if zstd has no further output without input.
    private var isDrained = true

    /// The logarithm of the largest window size.
    private static let windowLog: Int32 = 23

    var isComplete: Bool { hasFrame && !isInFrame && magic.isEmpty }

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` without memory.
    init() throws {
        guard let context = ZSTD_createDCtx() else {
            throw CurlewError(.resourcesExhausted, "zstd could not be started")
        }
        self.context = context
        let status = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog)
        guard ZSTD_isError(status) == 0 else {
            throw CurlewError(.resourcesExhausted, "zstd could not be started")
        }
    }

    deinit { ZSTD_freeDCtx(context) }

    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        while !input.isEmpty || !isDrained {
            if !isInFrame, try !beginFrame(&input) { return [] }
            let output = try step(&input, upTo: count)
            if !output.isEmpty { return output }
        }
        return []
    }

    /// Reads the magic number. libzstd would also accept the formats before 1.0, which have no limit for the window.
    /// - Returns: True if the number is complete.
    private func beginFrame(_ input: inout ArraySlice<UInt8>) throws -> Bool {
        while magic.count < 4, let byte = input.popFirst() { magic.append(byte) }
        guard Self.isMagic(magic) else {
            throw hasFrame ? CurlewError.trailingContent : Self.corrupt
        }
        guard magic.count == 4 else { return false }
        var start = magic[...]
        magic = []
        isInFrame = true
        hasFrame = true
        _ = try step(&start, upTo: 0)
        return true
    }

    /// True if the bytes begin a data frame or a skippable frame (RFC 8878 §3.1).
    private static func isMagic(_ bytes: [UInt8]) -> Bool {
        let skippable = bytes.first.map { $0 & 0xF0 == 0x50 } ?? true
        return [0x28, 0xB5, 0x2F, 0xFD].starts(with: bytes)
            || skippable && [0x2A, 0x4D, 0x18].starts(with: bytes.dropFirst())
    }

    private func step(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        var status = 0
        var used = 0
        let output = [UInt8](unsafeUninitializedCapacity: count) { target, filled in
            input.withUnsafeBufferPointer { source in
                // Both buffers are valid during this call only.
                var into = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
                var from = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                status = ZSTD_decompressStream(context, &into, &from)
                used = from.pos
                filled = into.pos
            }
        }
        guard ZSTD_isError(status) == 0 else { throw Self.failure(ZSTD_getErrorCode(status)) }
        guard used > 0 || !output.isEmpty || input.isEmpty else { throw Self.corrupt }
        input = input.dropFirst(used)
        isInFrame = status != 0
        isDrained = status == 0 || output.count < count || count == 0
        return output
    }

    private static func failure(_ code: ZSTD_ErrorCode) -> CurlewError {
        switch code {
        case ZSTD_error_memory_allocation: CurlewError(.resourcesExhausted, "zstd has no memory")
        case ZSTD_error_frameParameter_windowTooLarge:
            CurlewError(.contentDecodingFailed, "the body's zstd data asks for a window of more than 8 MiB")
        default: corrupt
        }
    }

    private static var corrupt: CurlewError {
        CurlewError(.contentDecodingFailed, "the body's zstd data is corrupt")
    }
}
#endif
