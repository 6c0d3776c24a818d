#if Images
internal import Curlew

/// A picture as its file has it, which is decoded when that is asked for: for whoever keeps many and shows few, or hands them on.
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

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for bytes that begin like no picture. Whether the rest is one
    ///   is seen when it is decoded.
    public init(_ bytes: [UInt8], scale: Double = 1) throws {
        self.bytes = bytes
        self.scale = scale
        format = try ImageFormat(recognizing: bytes)
    }

    /// Decodes the picture, on the global concurrent executor, each time anew.
    /// - Throws: What ``Image/init(decoding:options:)`` throws.
    @concurrent
    public func decoded(_ options: Image.DecodingOptions = Image.DecodingOptions()) async throws -> Image {
        var image = try Image(decoding: bytes, options: options)
        image.scale = scale
        return image
    }
}
#endif
