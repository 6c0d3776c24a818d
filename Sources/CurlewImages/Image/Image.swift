#if Images
internal import Curlew

/// An image in memory: its pixels in upright orientation, eight bits per channel.
///
/// ```swift
/// let image = try Image(decoding: bytes, options: Image.DecodingOptions(fitting: Image.Size(200, 200)))
/// let thumbnail = try image.encoded(as: .jpeg(quality: 80))
/// ```
///
/// The value contains one reference: copies share the pixels.
public struct Image: Sendable {
    /// A width and a height in pixels.
    public struct Size: Sendable, Hashable {
        public var width: Int
        public var height: Int

        public init(_ width: Int, _ height: Int) {
            self.width = width
            self.height = height
        }

        /// The total number of pixels.
        var count: Int { width * height }

        /// The size of this image scaled down to fit into another size, with its proportions; it is never enlarged.
        func fitting(into other: Size) -> Size {
            let factor = min(1, Double(other.width) / Double(width), Double(other.height) / Double(height))
            return Size(
                max(1, Int((Double(width) * factor).rounded())), max(1, Int((Double(height) * factor).rounded())))
        }
    }

    /// A frame of an animation.
    public struct Frame: Sendable {
        /// The pixels, in the format of ``Image/pixels``.
        public let pixels: [UInt8]
        /// The display time of the frame.
        public let duration: Duration
    }

    /// The size in pixels.
    public let size: Size
    /// The pixels: red, green, blue and alpha with one byte each, the colours premultiplied by alpha. Rows are stored
    /// from the top, without gaps.
    public let pixels: [UInt8]
    /// The frames of an animation; the first has ``pixels``. Empty for a still image.
    public let frames: [Frame]
    /// The number of pixels per point: 2 for an image that is displayed at half its size. 1 by default.
    public var scale: Double = 1
    /// The format of the decoded file; nil for an image that was not decoded.
    public let format: ImageFormat?
    /// True if the file was truncated: pixels, frames, or only the end marker are missing. Missing rows are
    /// transparent, or grey in a JPEG. ``DecodingOptions/refusesTruncated`` makes such files an error.
    public let isTruncated: Bool
    /// True if the file has a colour profile (ICC). The profile is not applied: the pixels keep their stored values.
    public let hasColorProfile: Bool

    /// Makes an image from pixels.
    /// - Parameters:
    ///   - size: The size of the image.
    ///   - pixels: Four bytes for each pixel, in the format of ``pixels``.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` if the number of bytes does not match
    ///   the size.
    public init(size: Size, pixels: [UInt8]) throws {
        // A division cannot overflow, unlike a multiplication of arbitrary sides.
        guard size.width > 0, size.height > 0, pixels.count.isMultiple(of: 4 * min(size.width, pixels.count)),
            pixels.count / 4 / size.width == size.height
        else {
            throw CurlewError(
                .invalidRequest,
                "an image of \(size.width) × \(size.height) has four bytes a pixel, not \(pixels.count)")
        }
        self.init(size: size, pixels: pixels, frames: [], format: nil, hasColorProfile: false)
    }

    init(
        size: Size, pixels: [UInt8], frames: [Frame], format: ImageFormat?, hasColorProfile: Bool, scale: Double = 1,
        isTruncated: Bool = false
    ) {
        self.isTruncated = isTruncated
        self.size = size
        self.pixels = pixels
        self.frames = frames
        self.format = format
        self.hasColorProfile = hasColorProfile
        self.scale = scale
    }

    /// The pixels as blue, green, red and alpha.
    public var bgraPixels: [UInt8] {
        var pixels = pixels
        for index in stride(from: 0, to: pixels.count, by: 4) { pixels.swapAt(index, index + 2) }
        return pixels
    }

    /// The size of the pixels in bytes, including all frames.
    public var byteCount: Int { max(pixels.count, frames.reduce(0) { $0 + $1.pixels.count }) }
}

/// A format of image files.
public struct ImageFormat: Sendable, Hashable, CustomStringConvertible {
    /// The name of the format, such as `png`.
    public let description: String

    public static let png = ImageFormat(description: "png")
    public static let jpeg = ImageFormat(description: "jpeg")
    public static let gif = ImageFormat(description: "gif")
    public static let webP = ImageFormat(description: "webp")
    public static let tiff = ImageFormat(description: "tiff")
    public static let bmp = ImageFormat(description: "bmp")
    public static let ico = ImageFormat(description: "ico")
    public static let avif = ImageFormat(description: "avif")

    private init(description: String) { self.description = description }

    /// Recognizes the format by the first bytes; nil for other formats. File names and media types are ignored.
    public init?(of bytes: some Collection<UInt8>) {
        let start = Array(bytes.prefix(32))
        func begins(_ text: String, at offset: Int = 0) -> Bool { start.dropFirst(offset).starts(with: text.utf8) }
        if start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if start.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if begins("GIF87a") || begins("GIF89a") {
            self = .gif
        } else if begins("RIFF"), begins("WEBP", at: 8) {
            self = .webP
        } else if start.starts(with: [0x49, 0x49, 0x2A, 0]) || start.starts(with: [0x4D, 0x4D, 0, 0x2A]) {
            self = .tiff
        } else if begins("ftyp", at: 4), begins("avif", at: 8) || begins("avis", at: 8) || begins("mif1", at: 8) {
            self = .avif
        } else if begins("BM") {
            self = .bmp
        } else if start.starts(with: [0, 0, 1, 0]), start.count >= 6, start[4] | start[5] != 0 {
            self = .ico
        } else {
            return nil
        }
    }

    /// True for the formats that ``Image/beginning(of:options:)`` supports.
    var canBeShownInPart: Bool { self == .jpeg || self == .webP }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for bytes of none of these formats.
    init(recognizing bytes: [UInt8]) throws {
        guard let format = ImageFormat(of: bytes) else {
            throw broken("the bytes are none of the formats that are known")
        }
        self = format
    }
}
#endif
