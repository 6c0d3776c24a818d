#if Images
public import Curlew

/// Reads an image: PNG, JPEG, GIF, WebP, TIFF, BMP, ICO and AVIF.
///
/// It takes `image/tiff`, `image/jpeg`, `image/gif`, `image/png`, `image/ico`, `image/x-icon`, `image/bmp`, `image/x-bmp`,
/// `image/x-xbitmap` and `image/x-win-bitmap`, as AFNetworking does, and `image/webp`, `image/avif` and `image/vnd.microsoft.icon`. What the
/// bytes are counts, not what they are called: a PNG that says it is a JPEG is read, and a page that says it is a PNG is
/// ``Curlew/ErrorCode/decodingFailed``, unlike in AFNetworking, where it was success without an image.
///
/// Decoding runs on the global concurrent executor, never on an event loop. ``EncodedImageResponseSerializer`` leaves it for later.
///
/// ```swift
/// let image = try await api.get("birds/7.jpg", as: .image(fitting: Image.Size(200, 200)))
/// ```
public struct ImageResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(Self.contentTypes))
    /// How images are decoded.
    public var options: Image.DecodingOptions
    /// The number of pixels to a point of the images that are read; see ``Image/scale``. 1 by default.
    public var scale: Double

    public init(options: Image.DecodingOptions = Image.DecodingOptions(), scale: Double = 1) {
        self.options = options
        self.scale = scale
    }

    /// The media types that are taken by default.
    public static let contentTypes: [ContentType] = [
        "tiff", "jpeg", "gif", "png", "ico", "x-icon", "bmp", "x-bmp", "x-xbitmap", "x-win-bitmap", "webp", "avif",
        "vnd.microsoft.icon",
    ].map { ContentType("image", $0) }

    /// A few bytes can hold millions of pixels.
    public static var offloadSize: ByteSize { 0 }

    static let acceptField = "image/avif, image/webp, image/*"
    public var acceptField: String? { Self.acceptField }
    public var format: String { "image" }

    public func decode(_ response: CurlewResponse.Collected) throws -> Image {
        // Decoding takes its time, and does not stop once it has begun.
        guard !Task.isCancelled else {
            throw CurlewError(.cancelled, "the task was cancelled before its image was decoded")
        }
        var image = try Image(decoding: response.imageBytes, options: options)
        image.scale = scale
        return image
    }
}

/// Reads an image without decoding it: AFNetworking's `automaticallyInflatesResponseImage` set to `NO`.
///
/// It takes what ``ImageResponseSerializer`` takes, and refuses what does not begin like an image.
public struct EncodedImageResponseSerializer: BodyResponseSerializer {
    public var acceptance = ResponseAcceptance(.types(ImageResponseSerializer.contentTypes))
    /// The number of pixels to a point; see ``Image/scale``. 1 by default.
    public var scale: Double

    public init(scale: Double = 1) { self.scale = scale }

    public var acceptField: String? { ImageResponseSerializer.acceptField }
    public var format: String { "image" }

    public func decode(_ response: CurlewResponse.Collected) throws -> EncodedImage {
        try EncodedImage(response.imageBytes, scale: scale)
    }
}

extension CurlewResponse.Collected {
    /// The body.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/emptyBody`` if there is none.
    fileprivate var imageBytes: [UInt8] {
        get throws {
            guard !body.isEmpty else { throw CurlewError(.emptyBody, "there is no body, and an image needs one") }
            return body
        }
    }
}

extension ResponseSerializer where Self == EncodedImageResponseSerializer {
    /// The body as an image that is decoded when that is asked for.
    public static var encodedImage: EncodedImageResponseSerializer { EncodedImageResponseSerializer() }
}

extension ResponseSerializer where Self == ImageResponseSerializer {
    /// The body as an image.
    public static var image: ImageResponseSerializer { ImageResponseSerializer() }

    /// The body as an image that fits into a size, in its proportions, and is not enlarged.
    public static func image(fitting size: Image.Size) -> ImageResponseSerializer {
        ImageResponseSerializer(options: Image.DecodingOptions(fitting: size))
    }
}
#endif
