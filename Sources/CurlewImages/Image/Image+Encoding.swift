#if Images
public import Curlew

extension Image {
    /// A format to write, and how.
    public struct Encoding: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case png
            case jpeg(Int)
            case webP(Int?)
        }

        let kind: Kind

        /// PNG, eight bits a channel with alpha.
        public static let png = Encoding(kind: .png)

        /// JPEG. What is transparent becomes black.
        /// - Parameter quality: 1 to 100; 80 by default.
        public static func jpeg(quality: Int = 80) -> Encoding { Encoding(kind: .jpeg(min(100, max(1, quality)))) }

        /// WebP with loss.
        /// - Parameter quality: 0 to 100; 80 by default.
        public static func webP(quality: Int = 80) -> Encoding { Encoding(kind: .webP(min(100, max(0, quality)))) }

        /// WebP without loss.
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

    /// The image as a file; of an animation the first frame. It takes as long as it takes.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/encodingFailed`` for an image that the format has no room for.
    public func encoded(as encoding: Encoding) throws -> [UInt8] {
        switch encoding.kind {
        case .png: try PNGCodec.encode(self)
        case .jpeg(let quality): try JPEGCodec.encode(self, quality: quality)
        case .webP(let quality): try WebPCodec.encode(self, quality: quality)
        }
    }
}
#endif
