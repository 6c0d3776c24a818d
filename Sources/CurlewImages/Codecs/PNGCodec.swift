#if Images
internal import CPNG
internal import Curlew
internal import Glibc

/// PNG, by libpng's simplified interface: palettes, 1 to 16 bits, interlaced images and gamma come out as eight bits of sRGB.
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
            // libpng takes 16 bits without gAMA for linear; those who write them mean sRGB, and readers take it for that.
            image.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
            // libpng 1.6.39 as Debian 12 has it mixes up the rows of an interlaced image of 16 bits when it makes eight of them.
            let isLinear = chunks.isDeepAndInterlaced
            image.format = UInt32(isLinear ? curlew_png_linear : curlew_png_rgba)
            let pixels = try [UInt8](unsafeUninitializedCapacity: size.count * (isLinear ? 8 : 4)) { pixels, count in
                // Bytes that a broken file leaves out are none of the caller's.
                pixels.initialize(repeating: 0)
                // A stride is a number of channels of a row.
                if png_image_finish_read(&image, nil, pixels.baseAddress, Int32(size.width * 4), nil) == 0 {
                    // The rows that were read are there.
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

    /// True if an error is that bytes are missing, not that they are wrong: libpng says it by words alone.
    private static func isCutOff(_ image: inout png_image) -> Bool {
        let message = String(cString: curlew_png_message(&image)).utf8
        return ["read beyond end of data", "Not enough image data"].contains { message.starts(with: $0.utf8) }
    }

    /// Channels of 16 bits, linear and multiplied by alpha, as eight bits of sRGB, and not multiplied.
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

    /// libpng's own exponent for sRGB, which takes back what it has done.
    private static let gammaTable = (0...65_535).map { UInt8((pow(Double($0) / 65_535, 0.45455) * 255).rounded()) }

    static func encode(_ image: Image) throws -> [UInt8] {
        var header = curlew_png_image()
        defer { png_image_free(&header) }
        header.width = UInt32(image.size.width)
        header.height = UInt32(image.size.height)
        header.format = UInt32(curlew_png_rgba)
        let pixels = Pixels.unpremultiplied(image.pixels)
        // Once to learn the size, which is the same both times.
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

/// What the chunks of a PNG say beside its pixels.
private struct PNGChunks {
    /// The file without texts and other chunks that the pixels do not need: libpng inflates and keeps them before it says how large the image
    /// is, 8 MB each.
    private(set) var imageFile: [UInt8]

    private static let needed: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT", "bKGD",
    ]

    /// True for 16 bits a channel whose rows come in seven passes.
    var isDeepAndInterlaced: Bool { imageFile.count > 28 && imageFile[24] == 16 && imageFile[28] == 1 }

    private(set) var orientation = Orientation.upright
    private(set) var hasColorProfile = false
    /// True if the mark of the end is there.
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
