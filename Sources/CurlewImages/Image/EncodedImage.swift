#if Images
internal import Curlew

/// An image file that is decoded on demand, for programs that keep many images and show few, or pass them on.
///
/// ```swift
/// let file = try await api.get("birds/7.jpg", as: .encodedImage)
/// let thumbnail = try await file.decoded(Image.DecodingOptions(fitting: Image.Size(200, 200)))
/// ```
public struct EncodedImage: Sendable {
    /// The file.
    public let bytes: [UInt8]
    /// The format that its first bytes are of.
    public let format: ImageFormat
    /// The number of pixels to a point of what is decoded; see ``Image/scale``. 1 by default.
    public var scale: Double

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for bytes that begin like no image. Whether the rest is one
    ///   is seen when it is decoded.
    public init(_ bytes: [UInt8], scale: Double = 1) throws {
        self.bytes = bytes
        self.scale = scale
        format = try ImageFormat(recognizing: bytes)
    }

    /// Decodes the image on the global concurrent executor. The result is not kept: each call decodes again.
    /// - Throws: What ``Image/init(decoding:options:)`` throws.
    public func decoded(_ options: Image.DecodingOptions = Image.DecodingOptions()) async throws -> Image {
        var image = try await onGlobalExecutor { [bytes] in try Image(decoding: bytes, options: options) }
        image.scale = scale
        return image
    }
}
#endif
