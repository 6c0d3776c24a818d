#if Images
public import Curlew

extension Image {
    /// A format for encoding, with its settings.
    public struct Encoding: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case png
            case jpeg(Int)
            case webP(Int?)
        }

        let kind: Kind

        /// PNG, eight bits per channel with alpha.
        public static let png = Encoding(kind: .png)

        /// JPEG. Transparent pixels become black.
        /// - Parameter quality: 1 to 100; 80 by default.
        public static func jpeg(quality: Int = 80) -> Encoding { Encoding(kind: .jpeg(min(100, max(1, quality)))) }

        /// Lossy WebP.
        /// - Parameter quality: 0 to 100; 80 by default.
        public static func webP(quality: Int = 80) -> Encoding { Encoding(kind: .webP(min(100, max(0, quality)))) }

        /// Lossless WebP.
        public static let losslessWebP = Encoding(kind: .webP(nil))

        /// The media type, for Content-Type.
        public var contentType: ContentType {
            switch kind {
            case .png: ContentType("image", "png")
            case .jpeg: ContentType("image", "jpeg")
            case .webP: ContentType("image", "webp")
            }
        }
    }

    /// Encodes the image as a file; only the first frame of an animation is encoded. Encoding blocks the thread.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/encodingFailed`` for an image beyond the limits of the
    ///   format.
    public func encoded(as encoding: Encoding) throws -> [UInt8] {
        switch encoding.kind {
        case .png: try PNGCodec.encode(self)
        case .jpeg(let quality): try JPEGCodec.encode(self, quality: quality)
        case .webP(let quality): try WebPCodec.encode(self, quality: quality)
        }
    }
}
#endif
