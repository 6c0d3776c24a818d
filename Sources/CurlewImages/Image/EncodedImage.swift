#if Images
internal import Curlew

/// An encoded image file that is decoded on demand, for programs that store many images and show few, or forward them.
///
/// ```swift
/// let file = try await api.get("birds/7.jpg", as: .encodedImage)
/// let thumbnail = try await file.decoded(Image.DecodingOptions(fitting: Image.Size(200, 200)))
/// ```
public struct EncodedImage: Sendable {
    /// The bytes of the file.
    public let bytes: [UInt8]
    /// The format, recognized by the first bytes.
    public let format: ImageFormat
    /// The number of pixels per point in decoded images; see ``Image/scale``. 1 by default.
    public var scale: Double

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for bytes that do not begin like an
    ///   image. Errors in the rest are found by decoding.
    public init(_ bytes: [UInt8], scale: Double = 1) throws {
        self.bytes = bytes
        self.scale = scale
        format = try ImageFormat(recognizing: bytes)
    }

    /// Decodes the image on the global concurrent executor. The result is not cached: each call decodes again.
    /// - Throws: The errors of ``Image/init(decoding:options:)``.
    public func decoded(_ options: Image.DecodingOptions = Image.DecodingOptions()) async throws -> Image {
        var image = try await onGlobalExecutor { [bytes] in try Image(decoding: bytes, options: options) }
        image.scale = scale
        return image
    }
}
#endif
