/// Undoes one coding of a body. It holds memory of a C library, which is freed with it.
protocol ContentDecoder: AnyObject {
    /// Whether what has come so far can be the whole.
    var isComplete: Bool { get }

    /// Decodes some of the input.
    /// - Parameters:
    ///   - input: Bytes; what is used up is taken off.
    ///   - count: The most bytes to bring.
    /// - Returns: Bytes; none only if the input is used up and nothing more can be made of what came before.
    /// - Throws: ``CurlewError`` with ``ErrorCode/contentDecodingFailed`` for what is no such coding or follows its end,
    ///   ``ErrorCode/resourcesExhausted`` without memory.
    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8]
}

/// The codings that can be undone.
enum ContentDecoderKind: Sendable {
    case gzip, deflate, brotli, zstandard

    /// - Parameter name: The name in lower case. `x-gzip` is `gzip` (RFC 9110 §8.4.1.3).
    init?(name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = .brotli
        case "zstd": self = .zstandard
        default: return nil
        }
    }

    func makeDecoder() throws -> any ContentDecoder {
        switch self {
        case .gzip: try Inflater(.gzip)
        case .deflate: DeflateDecoder()
        case .brotli: try BrotliDecoder()
        case .zstandard: try ZstandardDecoder()
        }
    }
}
