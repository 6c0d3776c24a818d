#if Images
internal import CPNG
internal import Curlew

/// PNG, by libpng's simplified interface: palettes, 1 to 16 bits, interlaced pictures and gamma come out as eight bits of sRGB.
enum PNGCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedPicture {
        let chunks = PNGChunks(bytes)
        var image = curlew_png_image()
        defer { png_image_free(&image) }
        let raster = try chunks.pictureFile.withUnsafeBytes { source in
            guard png_image_begin_read_from_memory(&image, source.baseAddress, source.count) != 0 else {
                throw error(&image)
            }
            let size = Image.Size(Int(image.width), Int(image.height))
            try options.limits.check(size.width, size.height)
            image.format = UInt32(curlew_png_rgba)
            let pixels = try [UInt8](unsafeUninitializedCapacity: size.count * 4) { pixels, count in
                // Bytes that a broken file leaves out are none of the caller's.
                pixels.initialize(repeating: 0)
                guard png_image_finish_read(&image, nil, pixels.baseAddress, Int32(size.width * 4), nil) != 0 else {
                    throw error(&image)
                }
                count = size.count * 4
            }
            return DecodedPicture.Raster(size: size, pixels: pixels)
        }
        return DecodedPicture(
            rasters: [raster], orientation: chunks.orientation, hasColorProfile: chunks.hasColorProfile)
    }

    static func encode(_ image: Image) throws -> [UInt8] {
        var header = curlew_png_image()
        defer { png_image_free(&header) }
        header.width = UInt32(image.size.width)
        header.height = UInt32(image.size.height)
        header.format = UInt32(curlew_png_rgba)
        let pixels = Pixels.unpremultiplied(image.pixels)
        // Once to learn the size, which is the same both times.
        var size = 0
        guard png_image_write_to_memory(&header, nil, &size, 0, pixels, Int32(image.size.width * 4), nil) != 0 else {
            throw error(&header)
        }
        return try [UInt8](unsafeUninitializedCapacity: size) { target, count in
            guard
                png_image_write_to_memory(
                    &header, target.baseAddress, &size, 0, pixels, Int32(image.size.width * 4), nil) != 0
            else { throw error(&header) }
            count = size
        }
    }

    private static func error(_ image: inout png_image) -> CurlewError {
        broken("the PNG is broken: \(String(cString: curlew_png_message(&image)))")
    }
}

/// What the chunks of a PNG say beside its pixels.
private struct PNGChunks {
    /// The file without texts and other chunks that the pixels do not need: libpng inflates and keeps them before it says how large the picture
    /// is, 8 MB each.
    private(set) var pictureFile: [UInt8]

    private static let needed: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "sBIT", "bKGD",
    ]

    private(set) var orientation = Orientation.upright
    private(set) var hasColorProfile = false

    init(_ bytes: [UInt8]) {
        pictureFile = Array(bytes.prefix(8))
        pictureFile.reserveCapacity(bytes.count)
        var position = 8
        while position + 8 <= bytes.count {
            let length = bytes[position..<(position + 4)].reduce(0) { $0 << 8 | Int($1) }
            let start = position + 8
            let name = String(decoding: bytes[(position + 4)..<start], as: UTF8.self)
            let end = min(bytes.count, start + length + 4)
            if Self.needed.contains(name) { pictureFile += bytes[position..<end] }
            guard length <= bytes.count - start else { return }
            switch name {
            case "eXIf": orientation = Orientation(exif: bytes[start..<(start + length)])
            case "iCCP": hasColorProfile = true
            case "IEND": return
            default: break
            }
            position = start + length + 4
        }
    }
}
#endif
