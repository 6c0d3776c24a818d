#if Images
internal import CPNG
internal import Curlew
internal import CurlewPlatform

/// The PNG decoder, by libpng's simplified interface. It converts palettes, 1 to 16 bits, interlaced images and gamma
/// to eight bits of sRGB.
enum PNGCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        let chunks = PNGChunks(bytes)
        var isTruncated = !chunks.hasEnd
        var image = curlew_png_image()
        defer { png_image_free(&image) }
        let raster = try chunks.imageFile.withUnsafeBytes { source in
            guard png_image_begin_read_from_memory(&image, source.baseAddress, source.count) != 0 else {
                throw error(&image)
            }
            let size = Image.Size(Int(image.width), Int(image.height))
            try options.limits.check(size.width, size.height)
            // libpng treats 16 bits without gAMA as linear; writers mean sRGB, and other readers assume it.
            image.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
            // libpng 1.6.39 (Debian 12) mixes up the rows of an interlaced image of 16 bits when it converts it to
            // eight bits.
            let isLinear = chunks.isDeepAndInterlaced
            image.format = UInt32(isLinear ? curlew_png_linear : curlew_png_rgba)
            let pixels = try [UInt8](unsafeUninitializedCapacity: size.count * (isLinear ? 8 : 4)) { pixels, count in
                // A broken file may leave bytes unwritten, which must not expose other memory.
                pixels.initialize(repeating: 0)
                // The stride is the number of channels in a row.
                if png_image_finish_read(&image, nil, pixels.baseAddress, Int32(size.width * 4), nil) == 0 {
                    // The rows before the error have been decoded.
                    guard chunks.hasPixels, isCutOff(&image) else { throw error(&image) }
                    isTruncated = true
                }
                count = pixels.count
            }
            return DecodedImage.Raster(size: size, pixels: isLinear ? eightBits(pixels) : pixels)
        }
        return DecodedImage(
            rasters: [raster], orientation: chunks.orientation, hasColorProfile: chunks.hasColorProfile,
            isTruncated: isTruncated)
    }

    /// True if an error means missing bytes, not wrong ones: libpng distinguishes them only by its message.
    private static func isCutOff(_ image: inout png_image) -> Bool {
        let message = String(cString: curlew_png_message(&image)).utf8
        return ["read beyond end of data", "Not enough image data"].contains { message.starts(with: $0.utf8) }
    }

    /// Converts channels of 16 bits, linear and premultiplied, to eight bits of sRGB that are not premultiplied.
    private static func eightBits(_ pixels: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: pixels.count / 2) { target, count in
            pixels.withUnsafeBytes { source in
                let source = source.bindMemory(to: UInt16.self)
                for place in stride(from: 0, to: source.count, by: 4) {
                    let alpha = UInt32(source[place + 3])
                    for channel in place..<(place + 3) {
                        let value = alpha == 0 ? 0 : min(65_535, UInt32(source[channel]) * 65_535 / alpha)
                        target[channel] = gammaTable[Int(value)]
                    }
                    target[place + 3] = UInt8((alpha * 255 + 32_767) / 65_535)
                }
            }
            count = pixels.count / 2
        }
    }

    /// The table for libpng's own sRGB exponent, which reverses libpng's conversion.
    private static let gammaTable = (0...65_535).map { UInt8((pow(Double($0) / 65_535, 0.45455) * 255).rounded()) }

    static func encode(_ image: Image) throws -> [UInt8] {
        var header = curlew_png_image()
        defer { png_image_free(&header) }
        header.width = UInt32(image.size.width)
        header.height = UInt32(image.size.height)
        header.format = UInt32(curlew_png_rgba)
        let pixels = Pixels.unpremultiplied(image.pixels)
        // The first call only determines the size, which is the same in the second call.
        var size = 0
        guard let stride = Int32(exactly: image.size.width * 4),
            png_image_write_to_memory(&header, nil, &size, 0, pixels, stride, nil) != 0
        else { throw encodingError(&header) }
        return try [UInt8](unsafeUninitializedCapacity: size) { target, count in
            guard png_image_write_to_memory(&header, target.baseAddress, &size, 0, pixels, stride, nil) != 0 else {
                throw encodingError(&header)
            }
            count = size
        }
    }

    private static func encodingError(_ image: inout png_image) -> CurlewError {
        CurlewError(.encodingFailed, "the image cannot be a PNG: \(String(cString: curlew_png_message(&image)))")
    }

    private static func error(_ image: inout png_image) -> CurlewError {
        broken("the PNG is broken: \(String(cString: curlew_png_message(&image)))")
    }
}

/// The relevant data of a PNG's chunks besides its pixels.
private struct PNGChunks {
    /// The file without text chunks and others that the pixels do not need. libpng would inflate and keep such chunks,
    /// 8 MB each, before it reports the image's size.
    private(set) var imageFile: [UInt8]

    private static let needed: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT", "bKGD",
    ]

    /// True for 16 bits per channel with rows in seven passes.
    var isDeepAndInterlaced: Bool { imageFile.count > 28 && imageFile[24] == 16 && imageFile[28] == 1 }

    private(set) var orientation = Orientation.upright
    private(set) var hasColorProfile = false
    /// True if the end marker exists.
    private(set) var hasEnd = false
    /// True if there are bytes of compressed pixels.
    private(set) var hasPixels = false

    init(_ bytes: [UInt8]) {
        imageFile = Array(bytes.prefix(8))
        imageFile.reserveCapacity(bytes.count)
        var position = 8
        while position + 8 <= bytes.count {
            let length = bytes[position..<(position + 4)].reduce(0) { $0 << 8 | Int($1) }
            let start = position + 8
            let name = String(decoding: bytes[(position + 4)..<start], as: UTF8.self)
            let end = min(bytes.count, start + length + 4)
            if Self.needed.contains(name) { imageFile += bytes[position..<end] }
            if name == "IDAT", start < bytes.count, length > 0 { hasPixels = true }
            guard length <= bytes.count - start else { return }
            switch name {
            case "eXIf": orientation = Orientation(exif: bytes[start..<(start + length)])
            case "iCCP": hasColorProfile = true
            case "IEND":
                hasEnd = start + length + 4 <= bytes.count
                return
            default: break
            }
            position = start + length + 4
        }
    }
}
#endif
