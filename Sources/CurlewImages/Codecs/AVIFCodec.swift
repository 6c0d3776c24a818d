#if Images
internal import CAVIF
internal import Curlew

/// The AVIF decoder, by libavif.
enum AVIFCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        guard let decoder = avifDecoderCreate() else {
            throw CurlewError(.resourcesExhausted, "no memory for an AVIF decoder")
        }
        defer { avifDecoderDestroy(decoder) }
        decoder.pointee.maxThreads = 1
        // libavif rejects limits above its own.
        decoder.pointee.imageSizeLimit = UInt32(max(1, min(16_384 * 16_384, options.limits.pixels)))
        decoder.pointee.imageCountLimit = UInt32(clamping: max(1, options.limits.frames))
        // libavif copies this metadata once for each item, and the orientation does not come from it.
        decoder.pointee.ignoreExif = AVIF_TRUE
        decoder.pointee.ignoreXMP = AVIF_TRUE
        let items = AVIFItems(bytes)
        guard items.imageCount <= 512 else { throw broken("the AVIF has \(items.imageCount) images") }
        return try bytes.withUnsafeBufferPointer { bytes in
            try check(avifDecoderSetIOMemory(decoder, bytes.baseAddress, bytes.count))
            try check(avifDecoderParse(decoder))
            guard let image = decoder.pointee.image else { throw broken("the AVIF has no image") }
            let size = Image.Size(Int(image.pointee.width), Int(image.pointee.height))
            try options.limits.check(size.width, size.height)
            // libavif decodes the size of the AV1 data, whatever the container states, and scales the result
            // afterwards.
            let codedLimit = items.codedPixels(of: size, hasAlpha: decoder.pointee.alphaPresent != 0)
            decoder.pointee.imageSizeLimit = min(decoder.pointee.imageSizeLimit, UInt32(clamping: codedLimit))
            let orientation = orientation(image)
            let part = try visiblePart(image)
            let kept =
                options.fitting.map {
                    part.size.fitting(into: orientation.swapsAxes ? Image.Size($0.height, $0.width) : $0)
                } ?? part.size
            let count = options.decodesAnimation ? Int(decoder.pointee.imageCount) : 1
            try options.limits.check(frames: count, of: size, kept: kept)
            var decoded = DecodedImage(
                rasters: [], isPremultiplied: true, orientation: orientation,
                hasColorProfile: image.pointee.icc.size > 0)
            for _ in 0..<max(1, count) {
                try check(avifDecoderNextImage(decoder))
                guard let image = decoder.pointee.image else { throw broken("the AVIF has no image") }
                // Each frame has its own size, which may differ.
                guard Int(image.pointee.width) == size.width, Int(image.pointee.height) == size.height else {
                    throw broken("the frames of the AVIF are not of one size")
                }
                var raster = try raster(image, size).cropped(x: part.x, y: part.y, to: part.size)
                // The duration of a frame is limited to a day.
                let seconds = decoder.pointee.imageTiming.duration
                raster.duration = .milliseconds(seconds > 0 ? Int((min(86_400, seconds) * 1000).rounded()) : 0)
                decoded.rasters.append(kept == part.size || count == 1 ? raster : Pixels.scaled(raster, to: kept))
            }
            return decoded
        }
    }

    private static func raster(_ image: UnsafeMutablePointer<avifImage>, _ size: Image.Size) throws
        -> DecodedImage.Raster
    {
        var target = avifRGBImage()
        avifRGBImageSetDefaults(&target, image)
        target.format = AVIF_RGB_FORMAT_RGBA
        target.depth = 8
        target.alphaPremultiplied = AVIF_TRUE
        target.rowBytes = UInt32(size.width * 4)
        let pixels = try [UInt8](unsafeUninitializedCapacity: size.count * 4) { pixels, count in
            pixels.initialize(repeating: 0)
            target.pixels = pixels.baseAddress
            try check(avifImageYUVToRGB(image, &target))
            count = size.count * 4
        }
        return DecodedImage.Raster(size: size, pixels: pixels)
    }

    private static func visiblePart(_ image: UnsafeMutablePointer<avifImage>) throws
        -> (x: Int, y: Int, size: Image.Size)
    {
        let whole = Image.Size(Int(image.pointee.width), Int(image.pointee.height))
        var part = avifCropRect()
        switch curlew_avif_crop(image, &part) {
        case 0: return (0, 0, whole)
        case 1:
            let (x, y) = (Int(part.x), Int(part.y))
            let size = Image.Size(Int(part.width), Int(part.height))
            if size.width > 0, size.height > 0, size.width <= whole.width - x, size.height <= whole.height - y {
                return (x, y, size)
            }
        default: break
        }
        throw broken("the clean aperture of the AVIF does not lie in it")
    }

    /// The orientation: rotation first, then mirroring (ISO/IEC 23000-22, MIAF §7.3.6.7).
    private static func orientation(_ image: UnsafeMutablePointer<avifImage>) -> Orientation {
        let isTurned = image.pointee.transformFlags & UInt32(AVIF_TRANSFORM_IROT.rawValue) != 0
        let isMirrored = image.pointee.transformFlags & UInt32(AVIF_TRANSFORM_IMIR.rawValue) != 0
        let turns = isTurned ? Int(image.pointee.irot.angle & 3) : 0
        guard isMirrored else { return Orientation(number: [1, 8, 3, 6][turns]) }
        return Orientation(number: (curlew_avif_mirror(image) == 0 ? [4, 5, 2, 7] : [2, 7, 4, 5])[turns])
    }

    private static func check(_ result: avifResult) throws {
        guard result == AVIF_RESULT_OK else {
            throw broken("the AVIF is broken: \(String(cString: avifResultToString(result)))")
        }
    }
}

/// A scan of an AVIF's item information (ISO/IEC 14496-12 §8.11.6). It looks for entries of `av01`, which are images
/// and tiles of grids, and of `grid`.
struct AVIFItems {
    private(set) var imageCount = 0
    private var hasGrid = false

    init(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { bytes in
            let name = (UInt8(ascii: "i"), UInt8(ascii: "n"), UInt8(ascii: "f"), UInt8(ascii: "e"))
            var place = 0
            while place + 18 <= bytes.count {
                defer { place += 1 }
                guard bytes[place] == name.0, bytes[place + 1] == name.1, bytes[place + 2] == name.2,
                    bytes[place + 3] == name.3
                else { continue }
                // Item identifiers have two bytes, or four in version 3.
                let types = [place + 12, place + 14].map { bytes[$0..<($0 + 4)] }
                if types.contains(where: { $0.elementsEqual("av01".utf8) }) { imageCount += 1 }
                if types.contains(where: { $0.elementsEqual("grid".utf8) }) { hasGrid = true }
            }
        }
    }

    /// The maximum pixel count of an AV1 image in a file whose container states a size.
    ///
    /// That is the size itself. For each tile of a grid it is four times the tile's share, because the last tiles of
    /// rows and columns may be cropped.
    func codedPixels(of size: Image.Size, hasAlpha: Bool) -> Int {
        guard hasGrid, imageCount > 0 else { return size.count }
        return min(size.count, max(64 * 64, size.count / imageCount * (hasAlpha ? 8 : 4)))
    }
}
#endif
