#if Images
internal import CWebP
internal import Curlew

/// The WebP decoder, by libwebp.
enum WebPCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        var features = WebPBitstreamFeatures()
        guard WebPGetFeatures(bytes, bytes.count, &features) == VP8_STATUS_OK else {
            throw broken("the WebP is broken")
        }
        let size = Image.Size(Int(features.width), Int(features.height))
        try options.limits.check(size.width, size.height)
        // An extended file declares its contents in its flags.
        let isExtended = bytes.count > 20 && bytes[12..<16].elementsEqual("VP8X".utf8)
        var decoded = DecodedImage(
            rasters: [], isPremultiplied: true, orientation: orientation(bytes),
            hasColorProfile: isExtended && bytes[20] & UInt8(ICCP_FLAG.rawValue) != 0,
            isTruncated: bytes.count < fileSize(of: bytes))
        if features.has_animation != 0 {
            decoded.rasters = try frames(bytes, size, decodedSize(size, decoded.orientation, options), options)
            return decoded
        }
        if decoded.isTruncated, !options.refusesTruncated, var beginning = try decodeBeginning(bytes, options) {
            beginning.hasColorProfile = decoded.hasColorProfile
            return beginning
        }
        let target = decodedSize(size, decoded.orientation, options)
        let pixels = try [UInt8](unsafeUninitializedCapacity: target.count * 4) { pixels, count in
            pixels.initialize(repeating: 0)
            guard let address = pixels.baseAddress else { return }
            let status = curlew_webp_decode(
                bytes, bytes.count, Int32(target.width), Int32(target.height), target == size ? 0 : 1, address)
            guard status == VP8_STATUS_OK else { throw broken("the WebP is broken (\(status.rawValue))") }
            count = target.count * 4
        }
        decoded.rasters = [DecodedImage.Raster(size: target, pixels: pixels)]
        return decoded
    }

    /// Decodes the beginning of a file, which shows its upper rows above transparent ones; nil if no row is complete,
    /// and for animations.
    static func decodeBeginning(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage? {
        var features = WebPBitstreamFeatures()
        guard WebPGetFeatures(bytes, bytes.count, &features) == VP8_STATUS_OK, features.has_animation == 0 else {
            return nil
        }
        let size = Image.Size(Int(features.width), Int(features.height))
        try options.limits.check(size.width, size.height)
        // The EXIF chunk comes after the pixels, so the orientation is unknown here.
        let target = decodedSize(size, .upright, options)
        var rows: Int32 = 0
        let pixels = [UInt8](unsafeUninitializedCapacity: target.count * 4) { pixels, count in
            pixels.initialize(repeating: 0)
            count = pixels.count
            guard let address = pixels.baseAddress else { return }
            rows = curlew_webp_decode_beginning(
                bytes, bytes.count, Int32(target.width), Int32(target.height), target == size ? 0 : 1, address)
        }
        guard rows > 0 else { return nil }
        return DecodedImage(
            rasters: [DecodedImage.Raster(size: target, pixels: pixels)], isPremultiplied: true, isTruncated: true)
    }

    /// The size of the file, from its header.
    private static func fileSize(of bytes: [UInt8]) -> Int {
        guard bytes.count >= 8 else { return 8 }
        return bytes[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) } + 8
    }

    private static func decodedSize(_ size: Image.Size, _ orientation: Orientation, _ options: Image.DecodingOptions)
        -> Image.Size
    {
        guard let fitting = options.fitting else { return size }
        return size.fitting(into: orientation.swapsAxes ? Image.Size(fitting.height, fitting.width) : fitting)
    }

    private static func orientation(_ bytes: [UInt8]) -> Orientation {
        bytes.withUnsafeBufferPointer { bytes in
            var length = 0
            guard let address = bytes.baseAddress, let exif = curlew_webp_exif(address, bytes.count, &length) else {
                return .upright
            }
            return Orientation(exif: Array(UnsafeBufferPointer(start: exif, count: length))[...])
        }
    }

    private static func frames(
        _ bytes: [UInt8], _ size: Image.Size, _ kept: Image.Size, _ options: Image.DecodingOptions
    ) throws -> [DecodedImage.Raster] {
        let count = options.decodesAnimation ? Int(curlew_webp_frame_count(bytes, bytes.count)) : 1
        try options.limits.check(frames: count, of: size, kept: kept)
        return try bytes.withUnsafeBufferPointer { bytes in
            guard let address = bytes.baseAddress, let decoder = curlew_webp_animation(address, bytes.count) else {
                throw broken("the WebP is broken")
            }
            defer { WebPAnimDecoderDelete(decoder) }
            var rasters: [DecodedImage.Raster] = []
            // libwebp uses a sum of 32 bits, which long animations exceed.
            var before = 0
            while rasters.count < count, WebPAnimDecoderHasMoreFrames(decoder) != 0 {
                var pixels: UnsafeMutablePointer<UInt8>?
                var end: Int32 = 0
                guard WebPAnimDecoderGetNext(decoder, &pixels, &end) != 0, let pixels else {
                    throw broken("the WebP is broken")
                }
                // Frames are scaled at once, because the limit applies to the stored frames.
                let whole = DecodedImage.Raster(
                    size: size, pixels: Array(UnsafeBufferPointer(start: pixels, count: size.count * 4)),
                    duration: .milliseconds(max(0, Int(end) - before)))
                rasters.append(kept == size ? whole : Pixels.scaled(whole, to: kept))
                before = Int(end)
            }
            guard rasters.count == count else { throw broken("the WebP has fewer frames than it declares") }
            return rasters
        }
    }

    static func encode(_ image: Image, quality: Int?) throws -> [UInt8] {
        let sizeError = CurlewError(.encodingFailed, "the image cannot be a WebP: its sides have 1 to 16,383 pixels")
        guard max(image.size.width, image.size.height) <= WEBP_MAX_DIMENSION else { throw sizeError }
        let pixels = Pixels.unpremultiplied(image.pixels)
        let (width, height) = (Int32(image.size.width), Int32(image.size.height))
        var output: UnsafeMutablePointer<UInt8>?
        let size =
            if let quality {
                WebPEncodeRGBA(pixels, width, height, width * 4, Float(quality), &output)
            } else {
                WebPEncodeLosslessRGBA(pixels, width, height, width * 4, &output)
            }
        defer { WebPFree(output) }
        guard size > 0, let output else { throw CurlewError(.resourcesExhausted, "no memory for a WebP") }
        return Array(UnsafeBufferPointer(start: output, count: size))
    }
}
#endif
