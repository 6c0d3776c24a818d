#if Images
public import Curlew

/// A serializer for images: PNG, JPEG, GIF, WebP, TIFF, BMP, ICO and AVIF.
///
/// It accepts `image/tiff`, `image/jpeg`, `image/gif`, `image/png`, `image/ico`, `image/x-icon`, `image/bmp`,
/// `image/x-bmp`, `image/x-xbitmap` and `image/x-win-bitmap`, as AFNetworking does, and `image/webp`, `image/avif` and
/// `image/vnd.microsoft.icon`. The bytes determine the format, not the media type: a PNG that is declared as a JPEG is
/// decoded. A web page that is declared as a PNG fails with ``Curlew/ErrorCode/decodingFailed``; AFNetworking reports
/// success without an image for it.
///
/// Decoding runs on the global concurrent executor, never on an event loop. ``EncodedImageResponseSerializer``
/// postpones decoding.
///
/// ```swift
/// let image = try await api.get("birds/7.jpg", as: .image(fitting: Image.Size(200, 200)))
/// ```
public struct ImageResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(Self.contentTypes))
    /// The options of decoding.
    public var options: Image.DecodingOptions
    /// The number of pixels per point in decoded images; see ``Image/scale``. 1 by default.
    public var scale: Double

    public init(options: Image.DecodingOptions = Image.DecodingOptions(), scale: Double = 1) {
        self.options = options
        self.scale = scale
    }

    /// The media types that are accepted by default.
    public static let contentTypes: [ContentType] = [
        "tiff", "jpeg", "gif", "png", "ico", "x-icon", "bmp", "x-bmp", "x-xbitmap", "x-win-bitmap", "webp", "avif",
        "vnd.microsoft.icon",
    ].map { ContentType("image", $0) }

    /// The size from which decoding leaves the event loop: zero, because a few bytes can contain millions of pixels.
    public static var offloadSize: ByteSize { 0 }

    static let acceptField = "image/avif, image/webp, image/*"
    public var acceptField: String? { Self.acceptField }
    public var format: String { "image" }

    public func decode(_ response: CurlewResponse.Collected) throws -> Image {
        // Decoding takes long and cannot be cancelled once it has begun.
        guard !Task.isCancelled else {
            throw CurlewError(.cancelled, "the task was cancelled before its image was decoded")
        }
        var image = try Image(decoding: response.imageBytes, options: options)
        image.scale = scale
        return image
    }
}

/// A serializer for images that are not decoded: AFNetworking's `automaticallyInflatesResponseImage` set to `NO`.
///
/// It accepts the media types of ``ImageResponseSerializer``, and rejects bytes that do not begin like an image.
public struct EncodedImageResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(ImageResponseSerializer.contentTypes))
    /// The number of pixels per point; see ``Image/scale``. 1 by default.
    public var scale: Double

    public init(scale: Double = 1) { self.scale = scale }

    public var acceptField: String? { ImageResponseSerializer.acceptField }
    public var format: String { "image" }

    public func decode(_ response: CurlewResponse.Collected) throws -> EncodedImage {
        try EncodedImage(response.imageBytes, scale: scale)
    }
}

extension CurlewResponse.Collected {
    /// The body of the response.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/emptyBody`` for an empty body.
    fileprivate var imageBytes: [UInt8] {
        get throws {
            guard !body.isEmpty else { throw CurlewError(.emptyBody, "there is no body, and an image needs one") }
            return body
        }
    }
}

extension ResponseSerializer where Self == EncodedImageResponseSerializer {
    /// The body as an image that is decoded on demand.
    public static var encodedImage: EncodedImageResponseSerializer { EncodedImageResponseSerializer() }
}

extension ResponseSerializer where Self == ImageResponseSerializer {
    /// The body as an image.
    public static var image: ImageResponseSerializer { ImageResponseSerializer() }

    /// The body as an image that is scaled down to fit into a size, with its proportions; it is never enlarged.
    public static func image(fitting size: Image.Size) -> ImageResponseSerializer {
        ImageResponseSerializer(options: Image.DecodingOptions(fitting: size))
    }
}
#endif
