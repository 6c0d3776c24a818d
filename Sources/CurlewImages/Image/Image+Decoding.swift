#if Images
internal import Curlew

extension Image {
    /// How an image is decoded.
    public struct DecodingOptions: Sendable, Hashable {
        /// The size that the image is made to fit into, in its proportions; it is not enlarged. Where the codec can, it decodes no more than
        /// that needs. nil, the default, keeps the size.
        public var fitting: Size?
        /// True, the default, if all frames of an animation are decoded; false takes the first.
        public var decodesAnimation = true
        /// True if a PNG, JPEG, GIF or WebP that ends too early is an error. False, the default, shows the pixels that there are, as browsers do,
        /// and says so in ``Image/isTruncated``. Truncated files of the other formats are errors in any case.
        public var refusesTruncated = false
        /// The bounds on what a file may ask for.
        public var limits = Limits()

        public init(fitting: Size? = nil) { self.fitting = fitting }
    }

    /// The bounds on a file's claims. They are looked at before memory is taken for its pixels; beyond them decoding fails.
    public struct Limits: Sendable, Hashable {
        /// The most pixels of an image as it is stored. 64 million by default: 256 MB.
        public var pixels = 64_000_000
        /// The most pixels of a side: a long line takes many times its own memory while it is made smaller. 65,535 by default.
        public var side = 65_535
        /// The largest total of pixels over all decoded frames. 128 million by default. Frames before down-sampling may have 16 times as many in
        /// total: decoding them costs time even when the results are small. Each scan of a JPEG counts as one such frame; 16 scans are
        /// always allowed, 512 at most.
        public var animationPixels = 128_000_000
        /// The most frames of an animation. 2,000 by default.
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

        /// The most scans of a JPEG, each of which goes over all its pixels. Cameras and encoders write ten or so.
        func scans(of size: Size) -> Int { 16 * max(1, min(32, animationPixels / size.count)) }

        /// - Parameters:
        ///   - size: That of the frames as they are stored.
        ///   - kept: That of the frames as they are kept.
        func check(frames count: Int, of size: Size, kept: Size) throws {
            guard count <= frames else {
                throw CurlewError(.responseTooLarge, "the animation has more than \(frames) frames")
            }
            // One frame is held against the limit of pixels.
            guard count <= 1 || count <= animationPixels / kept.count && count / 16 <= animationPixels / size.count
            else {
                throw CurlewError(.responseTooLarge, "the animation has more than \(animationPixels) pixels")
            }
        }
    }

    /// Decodes a file, whatever it is called: the format is that of its first bytes. It takes as long as it takes; ``ImageResponseSerializer``
    /// does it on the global executor.
    /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/decodingFailed`` for what is no image or is broken, and
    ///   ``Curlew/ErrorCode/responseTooLarge`` beyond the limits.
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

    /// What the beginning of a file shows: all of a progressive JPEG, coarsely, or the upper rows of a WebP. nil where it shows nothing yet, and
    /// for the other formats.
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

/// That a file is no image, or a broken one.
func broken(_ message: String) -> CurlewError { CurlewError(.decodingFailed, message) }

/// What a codec brings.
struct DecodedImage {
    /// One raster of pixels: RGBA, eight bits each.
    struct Raster {
        var size: Image.Size
        var pixels: [UInt8]
        var duration: Duration = .zero

        /// A part, which has to lie in it.
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
    /// True if the colours are multiplied by alpha already.
    var isPremultiplied = false
    var orientation = Orientation.upright
    var hasColorProfile = false
    /// True if the file ended before its end.
    var isTruncated = false

    /// The image, made of the rasters, which are gone then: each is changed in its place, without a copy.
    mutating func image(_ format: ImageFormat, _ options: Image.DecodingOptions) throws -> Image {
        guard !isTruncated || !options.refusesTruncated else { throw broken("the \(format) ends too early") }
        var finished: [Raster] = []
        for index in rasters.indices {
            var raster = Raster(size: rasters[index].size, pixels: [])
            swap(&raster, &rasters[index])
            if !isPremultiplied { Pixels.premultiply(&raster.pixels) }
            if let target = options.fitting {
                // The target is that of the image as it is seen.
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
