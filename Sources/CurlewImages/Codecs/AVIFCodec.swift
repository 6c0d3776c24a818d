#if Images
internal import CAVIF
internal import Curlew

/// AVIF, by libavif.
enum AVIFCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedPicture {
        guard let decoder = avifDecoderCreate() else {
            throw CurlewError(.resourcesExhausted, "no memory for an AVIF decoder")
        }
        defer { avifDecoderDestroy(decoder) }
        decoder.pointee.maxThreads = 1
        // libavif takes no more than its own limit.
        decoder.pointee.imageSizeLimit = UInt32(max(1, min(16_384 * 16_384, options.limits.pixels)))
        decoder.pointee.imageCountLimit = UInt32(clamping: max(1, options.limits.frames))
        return try bytes.withUnsafeBufferPointer { bytes in
            try check(avifDecoderSetIOMemory(decoder, bytes.baseAddress, bytes.count))
            try check(avifDecoderParse(decoder))
            guard let image = decoder.pointee.image else { throw broken("the AVIF has no picture") }
            let size = Image.Size(Int(image.pointee.width), Int(image.pointee.height))
            try options.limits.check(size.width, size.height)
            let orientation = orientation(image)
            let kept =
                options.fitting.map {
                    size.fitting(into: orientation.swapsAxes ? Image.Size($0.height, $0.width) : $0)
                } ?? size
            let count = options.decodesAnimation ? Int(decoder.pointee.imageCount) : 1
            try options.limits.check(frames: count, of: size, kept: kept)
            var picture = DecodedPicture(
                rasters: [], isPremultiplied: true, orientation: orientation,
                hasColorProfile: image.pointee.icc.size > 0)
            for _ in 0..<max(1, count) {
                try check(avifDecoderNextImage(decoder))
                guard let image = decoder.pointee.image else { throw broken("the AVIF has no picture") }
                // Every picture says its own size.
                guard Int(image.pointee.width) == size.width, Int(image.pointee.height) == size.height else {
                    throw broken("the pictures of the AVIF are not of one size")
                }
                var raster = try raster(image, size)
                // No picture is shown for longer than a day.
                let seconds = decoder.pointee.imageTiming.duration
                raster.duration = .milliseconds(seconds > 0 ? Int((min(86_400, seconds) * 1000).rounded()) : 0)
                picture.rasters.append(kept == size || count == 1 ? raster : Pixels.scaled(raster, to: kept))
            }
            return picture
        }
    }

    private static func raster(_ image: UnsafeMutablePointer<avifImage>, _ size: Image.Size) throws
        -> DecodedPicture.Raster
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
        return DecodedPicture.Raster(size: size, pixels: pixels)
    }

    /// Turned first, then mirrored (ISO/IEC 23000-22, MIAF §7.3.6.7).
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
#endif
