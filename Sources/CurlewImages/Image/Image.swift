#if Images
internal import Curlew

/// An image in memory: its pixels as they are to be seen, turned upright, eight bits a channel.
///
/// ```swift
/// let image = try Image(decoding: bytes, options: Image.DecodingOptions(fitting: Image.Size(200, 200)))
/// let thumbnail = try image.encoded(as: .jpeg(quality: 80))
/// ```
///
/// A value of one reference: a copy shares the pixels.
public struct Image: Sendable {
    /// A number of pixels each way.
    public struct Size: Sendable, Hashable {
        public var width: Int
        public var height: Int

        public init(_ width: Int, _ height: Int) {
            self.width = width
            self.height = height
        }

        /// The pixels in all.
        var count: Int { width * height }

        /// The size for an image of this one that fits into another, in the same proportions, and is not enlarged.
        func fitting(into other: Size) -> Size {
            let factor = min(1, Double(other.width) / Double(width), Double(other.height) / Double(height))
            return Size(
                max(1, Int((Double(width) * factor).rounded())), max(1, Int((Double(height) * factor).rounded())))
        }
    }

    /// One frame of an animation.
    public struct Frame: Sendable {
        /// The pixels, as ``Image/pixels`` has them.
        public let pixels: [UInt8]
        /// The time that it is shown for.
        public let duration: Duration
    }

    /// The size in pixels.
    public let size: Size
    /// The pixels: red, green, blue and alpha, a byte each, the first three multiplied by the last; rows from the top, without gaps.
    public let pixels: [UInt8]
    /// The frames of an animation; the first has ``pixels``. Empty for an image that does not move.
    public let frames: [Frame]
    /// The number of pixels to a point: 2 for an image that is to be seen at half its size. 1 by default.
    public var scale: Double = 1
    /// The format that it was decoded from; nil for one that was made here.
    public let format: ImageFormat?
    /// True if the file ended before its end: pixels are missing, or frames, or no more than the mark of the end. Rows that are missing are
    /// transparent, or grey in a JPEG. ``DecodingOptions/refusesTruncated`` makes such files an error.
    public let isTruncated: Bool
    /// True if the file carries a colour profile (ICC). The pixels are as they were stored: it is noted, and not applied.
    public let hasColorProfile: Bool

    /// Makes an image of pixels.
    /// - Parameters:
    ///   - size: Its size.
    ///   - pixels: Four bytes a pixel, as ``pixels`` has them.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` if there are not as many bytes as the size needs.
    public init(size: Size, pixels: [UInt8]) throws {
        // Divided, not multiplied: the sides may be anything.
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

    /// The bytes that the pixels take, those of all frames included.
    public var byteCount: Int { max(pixels.count, frames.reduce(0) { $0 + $1.pixels.count }) }
}

/// A format of image files.
public struct ImageFormat: Sendable, Hashable, CustomStringConvertible {
    /// The name, such as `png`.
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

    /// The format that bytes begin like; nil if it is none of these. A name or a media type that says otherwise does not count.
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

    /// True for the formats that ``Image/beginning(of:options:)`` knows.
    var canBeShownInPart: Bool { self == .jpeg || self == .webP }

    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for bytes that begin like none of these.
    init(recognizing bytes: [UInt8]) throws {
        guard let format = ImageFormat(of: bytes) else {
            throw broken("the bytes are none of the formats that are known")
        }
        self = format
    }
}
#endif
