#if Images
internal import Curlew

extension Image {
    /// The options of decoding.
    public struct DecodingOptions: Sendable, Hashable {
        /// The size that the image is scaled down to fit into, with its proportions; it is never enlarged. A codec that
        /// supports it decodes only the needed data. nil, the default, keeps the size.
        public var fitting: Size?
        /// True, the default, if all frames of an animation are decoded; false decodes only the first.
        public var decodesAnimation = true
        /// True if a truncated PNG, JPEG, GIF or WebP is an error. False, the default, keeps the decoded pixels, as
        /// browsers do, and sets ``Image/isTruncated``. Truncated files of the other formats are always errors.
        public var refusesTruncated = false
        /// The limits for a file.
        public var limits = Limits()

        public init(fitting: Size? = nil) { self.fitting = fitting }
    }

    /// The limits for a file. They are checked before memory for pixels is allocated; decoding fails beyond them.
    public struct Limits: Sendable, Hashable {
        /// The maximum pixel count of a stored image. 64 million by default, which takes 256 MB.
        public var pixels = 64_000_000
        /// The maximum length of a side in pixels, because scaling down a long line takes many times its own memory.
        /// 65,535 by default.
        public var side = 65_535
        /// The maximum pixel count of all decoded frames. 128 million by default.
        ///
        /// Stored frames may have 16 times as many pixels in total, because decoding them takes time even if the
        /// results are small. Each scan of a JPEG counts as one such frame; 16 scans are always allowed, and 512 at
        /// most.
        public var animationPixels = 128_000_000
        /// The maximum number of frames of an animation. 2,000 by default.
        public var frames = 2000

        public init() {}

        func check(_ width: Int, _ height: Int) throws {
            guard width > 0, height > 0 else { throw broken("the image is \(width) × \(height)") }
            guard width <= side, height <= side else {
                throw CurlewError(
                    .responseTooLarge, "the image is \(width) × \(height), and a side has \(side) pixels")
            }
            let (count, isTooLarge) = width.multipliedReportingOverflow(by: height)
            guard !isTooLarge, count <= pixels else {
                throw CurlewError(
                    .responseTooLarge, "the image is \(width) × \(height), and \(pixels) pixels are allowed")
            }
        }

        /// The maximum number of scans of a JPEG; each scan covers all pixels. Cameras and encoders write about ten.
        func scans(of size: Size) -> Int { 16 * max(1, min(32, animationPixels / size.count)) }

        /// - Parameters:
        ///   - size: The size of the stored frames.
        ///   - kept: The size of the decoded frames.
        func check(frames count: Int, of size: Size, kept: Size) throws {
            guard count <= frames else {
                throw CurlewError(.responseTooLarge, "the animation has more than \(frames) frames")
            }
            // The pixel limit of images applies to a single frame.
            guard count <= 1 || count <= animationPixels / kept.count && count / 16 <= animationPixels / size.count
            else {
                throw CurlewError(.responseTooLarge, "the animation has more than \(animationPixels) pixels")
            }
        }
    }

    /// Decodes a file. Its first bytes determine the format, whatever its name is. Decoding blocks the thread;
    /// ``ImageResponseSerializer`` decodes on the global executor.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for bytes of another kind and for
    ///   broken images, and ``Curlew/ErrorCode/responseTooLarge`` beyond the limits.
    public init(decoding bytes: [UInt8], options: DecodingOptions = DecodingOptions()) throws {
        let format = try ImageFormat(recognizing: bytes)
        var decoded: DecodedImage =
            switch format {
            case .png: try PNGCodec.decode(bytes, options)
            case .jpeg: try JPEGCodec.decode(bytes, options)
            case .gif: try GIFCodec.decode(bytes, options)
            case .webP: try WebPCodec.decode(bytes, options)
            case .tiff: try TIFFCodec.decode(bytes, options)
            case .avif: try AVIFCodec.decode(bytes, options)
            case .bmp: try BMPCodec.decode(bytes, options)
            default: try ICOCodec.decode(bytes, options)
            }
        self = try decoded.image(format, options)
    }

    /// Decodes the beginning of a file: a coarse version of a progressive JPEG, or the upper rows of a WebP. nil if
    /// nothing can be shown yet, and for the other formats.
    static func beginning(of bytes: [UInt8], options: DecodingOptions) throws -> Image? {
        guard let format = ImageFormat(of: bytes) else { return nil }
        var decoded: DecodedImage? =
            switch format {
            case .jpeg: try JPEGCodec.decodeBeginning(bytes, options)
            case .webP: try WebPCodec.decodeBeginning(bytes, options)
            default: nil
            }
        return try decoded?.image(format, options)
    }
}

/// Makes the error for a file that is not an image, or is broken.
func broken(_ message: String) -> CurlewError { CurlewError(.decodingFailed, message) }

/// The result of a codec.
struct DecodedImage {
    /// A raster of pixels: RGBA, eight bits each.
    struct Raster {
        var size: Image.Size
        var pixels: [UInt8]
        var duration: Duration = .zero

        /// Crops the raster to a part, which must lie inside it.
        func cropped(x: Int, y: Int, to part: Image.Size) -> Raster {
            guard part != size else { return self }
            var kept: [UInt8] = []
            kept.reserveCapacity(part.count * 4)
            for row in y..<(y + part.height) {
                let start = (row * size.width + x) * 4
                kept += pixels[start..<(start + part.width * 4)]
            }
            return Raster(size: part, pixels: kept, duration: duration)
        }
    }

    var rasters: [Raster]
    /// True if the colours are already multiplied by alpha.
    var isPremultiplied = false
    var orientation = Orientation.upright
    var hasColorProfile = false
    /// True if the file is truncated.
    var isTruncated = false

    /// Makes the image from the rasters, which are empty afterwards: each is changed in place, without a copy.
    mutating func image(_ format: ImageFormat, _ options: Image.DecodingOptions) throws -> Image {
        guard !isTruncated || !options.refusesTruncated else { throw broken("the \(format) ends too early") }
        var finished: [Raster] = []
        for index in rasters.indices {
            var raster = Raster(size: rasters[index].size, pixels: [])
            swap(&raster, &rasters[index])
            if !isPremultiplied { Pixels.premultiply(&raster.pixels) }
            if let target = options.fitting {
                // The target size applies to the upright image.
                let fitted = raster.size.fitting(
                    into: orientation.swapsAxes ? Image.Size(target.height, target.width) : target)
                if fitted != raster.size { raster = Pixels.scaled(raster, to: fitted) }
            }
            finished.append(orientation.applied(to: raster))
        }
        guard let first = finished.first else { throw broken("the file has no image") }
        let frames = finished.count > 1 ? finished.map { Image.Frame(pixels: $0.pixels, duration: $0.duration) } : []
        return Image(
            size: first.size, pixels: first.pixels, frames: frames, format: format, hasColorProfile: hasColorProfile,
            isTruncated: isTruncated)
    }
}
#endif
