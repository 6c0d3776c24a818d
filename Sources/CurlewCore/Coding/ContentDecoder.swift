/// A decoder for one coding of a body. It owns memory of a C library, which is freed with it.
protocol ContentDecoder: AnyObject {
    /// True if the input so far can be the complete body.
    var isComplete: Bool { get }

    /// Decodes a part of the input.
    /// - Parameters:
    ///   - input: The bytes; consumed ones are removed.
    ///   - count: The most bytes to return.
    /// - Returns: Decoded bytes; none only if the input is consumed and no further output is pending.
    /// - Throws: ``CurlewError`` with ``ErrorCode/contentDecodingFailed`` for invalid data and for bytes after its end,
    ///   ``ErrorCode/resourcesExhausted`` without memory.
    func decode(_ input: inout ArraySlice<UInt8>, upTo count: Int) throws -> [UInt8]
}

/// The supported codings, in the order in which they are announced.
enum ContentDecoderKind: CaseIterable, Sendable {
    case gzip, deflate
    #if Brotli
    case brotli
    #endif
    #if Zstandard
    case zstandard
    #endif

    /// The name in Content-Encoding and Accept-Encoding.
    var name: String {
        switch self {
        case .gzip: "gzip"
        case .deflate: "deflate"
        #if Brotli
        case .brotli: "br"
        #endif
        #if Zstandard
        case .zstandard: "zstd"
        #endif
        }
    }

    /// - Parameter name: The name in lower case. `x-gzip` is `gzip` (RFC 9110 §8.4.1.3).
    init?(name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        #if Brotli
        case "br": self = .brotli
        #endif
        #if Zstandard
        case "zstd": self = .zstandard
        #endif
        default: return nil
        }
    }

    /// The codings of a list; nil if one of them is unknown, so the body has to be passed on unchanged.
    static func all(of list: ContentCodingList) -> [ContentDecoderKind]? {
        let kinds = list.names.compactMap { ContentDecoderKind(name: $0) }
        return kinds.count == list.names.count ? kinds : nil
    }

    func makeDecoder() throws -> any ContentDecoder {
        switch self {
        case .gzip: try Inflater(.gzip)
        case .deflate: DeflateDecoder()
        #if Brotli
        case .brotli: try BrotliDecoder()
        #endif
        #if Zstandard
        case .zstandard: try ZstandardDecoder()
        #endif
        }
    }
}
