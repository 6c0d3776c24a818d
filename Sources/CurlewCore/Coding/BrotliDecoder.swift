#if Brotli
internal import CBrotli

/// A decoder for Brotli (RFC 7932). Memory: tables, and a window whose size the data determines, at most 16 MiB.
///
/// The library owns the decoder's state, which is freed with the object.
final class BrotliDecoder: ContentDecoder {
    private let state: OpaquePointer
    private(set) var isComplete = false

    /// - Throws: ``CurlewError`` with ``ErrorCode/resourcesExhausted`` without memory.
    init() throws {
        // Windows beyond 16 MiB are an extension, which is off by default.
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
            throw CurlewError(.resourcesExhausted, "brotli could not be started")
        }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        if isComplete {
            guard input.isEmpty else { throw CurlewError.trailingContent }
            return []
        }
        while !input.isEmpty || BrotliDecoderHasMoreOutput(state) == BROTLI_TRUE {
            let output = try step(&input, upTo: count)
            if !output.isEmpty { return output }
            if isComplete { return try decode(&input, upTo: count) }
        }
        return []
    }

    private func step(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8] {
        var result = BROTLI_DECODER_RESULT_ERROR
        var used = 0
        let output = [UInt8](unsafeUninitializedCapacity: count) { target, filled in
            input.withUnsafeBufferPointer { source in
                // The pointers are valid during this call only: the library keeps none of them.
                var available = source.count
                var position = source.baseAddress
                var room = target.count
                var end = target.baseAddress
                result = BrotliDecoderDecompressStream(state, &available, &position, &room, &end, nil)
                used = source.count - available
                filled = target.count - room
            }
        }
        guard result != BROTLI_DECODER_RESULT_ERROR else { throw failure() }
        input = input.dropFirst(used)
        isComplete = result == BROTLI_DECODER_RESULT_SUCCESS
        return output
    }

    private func failure() -> CurlewError {
        let code = BrotliDecoderGetErrorCode(state).rawValue
        // The codes of failed allocations are consecutive.
        let first = BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES.rawValue
        let last = BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES.rawValue
        guard !(first...last).contains(code) else { return CurlewError(.resourcesExhausted, "brotli has no memory") }
        return CurlewError(.contentDecodingFailed, "the body's br data is corrupt")
    }
}
#endif
