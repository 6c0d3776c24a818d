#if Images
internal import Curlew

/// The BMP decoder. Debian has no separate library for BMP, and only printers use the variants that need one, with JPEG
/// or PNG compression.
enum BMPCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        let reader = BitmapReader(bytes)
        guard reader.size >= 18 else { throw broken("the BMP ends before its image begins") }
        let offset = reader.number(at: 10, 4)
        let raster = try reader.bitmap(from: 14, pixelsAt: offset, limits: options.limits)
        return DecodedImage(rasters: [raster])
    }
}

/// The ICO decoder. It reads the largest of the images, each of which is a PNG or a BMP without its file header.
enum ICOCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        let reader = BitmapReader(bytes)
        let count = reader.number(at: 4, 2)
        guard reader.size >= 6 + count * 16 else { throw broken("the ICO ends in its directory") }
        let entries = (0..<count).map { index in
            let entry = 6 + index * 16
            // A side of 0 means 256. Among equal sizes the image with more colours wins, then the first.
            let side = { (place: Int) in reader.number(at: place, 1) == 0 ? 256 : reader.number(at: place, 1) }
            return (
                rank: side(entry) * side(entry + 1) * 64 + min(63, reader.number(at: entry + 6, 2)),
                length: reader.number(at: entry + 8, 4), offset: reader.number(at: entry + 12, 4)
            )
        }
        guard let entry = entries.max(by: { $0.rank < $1.rank }), entry.offset <= reader.size,
            entry.length <= reader.size - entry.offset
        else { throw broken("the ICO has no image") }
        let content = Array(bytes[entry.offset..<(entry.offset + entry.length)])
        if ImageFormat(of: content) == .png { return try PNGCodec.decode(content, options) }
        return DecodedImage(rasters: [
            try BitmapReader(content).bitmap(from: 0, pixelsAt: nil, limits: options.limits)
        ])
    }
}

/// A reader of device-independent bitmaps, the common part of BMP and ICO.
private struct BitmapReader {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var size: Int { bytes.count }

    /// A little-endian number; bytes beyond the end count as zero.
    func number(at position: Int, _ count: Int) -> Int {
        guard position >= 0, position <= bytes.count - count else { return 0 }
        return (0..<count).reversed().reduce(0) { $0 << 8 | Int(bytes[position + $1]) }
    }

    private func signed(at position: Int) -> Int { Int(Int32(truncatingIfNeeded: number(at: position, 4))) }

    /// The relevant parts of a header.
    private struct Header {
        var width: Int
        var height: Int
        var isTopDown = false
        var bits: Int
        var compression = 0
        /// The offset of the colour table, followed by its number of entries.
        var paletteStart: Int
        var paletteCount = 0
        var paletteEntry = 4
        /// The masks of red, green, blue and alpha in a pixel of 16 or 32 bits.
        var masks: [UInt32] = []
    }

    /// - Parameters:
    ///   - start: The offset of the header.
    ///   - pixels: The offset of the pixels; nil in an ICO. There the pixels follow the colour table, the height is
    ///     twice the image's, and a transparency mask follows the pixels.
    func bitmap(from start: Int, pixelsAt pixels: Int?, limits: Image.Limits) throws -> DecodedImage.Raster {
        var header = try header(at: start)
        let isIcon = pixels == nil
        if isIcon { header.height /= 2 }
        try limits.check(header.width, header.height)
        let first = pixels ?? header.paletteStart + header.paletteCount * header.paletteEntry
        guard first >= start, first <= bytes.count else { throw broken("the bitmap ends before its pixels") }
        let size = Image.Size(header.width, header.height)
        var output = [UInt8](repeating: 0, count: size.count * 4)
        switch header.compression {
        case 0,
            3 where header.bits == 16 || header.bits == 32, 6 where header.bits == 16 || header.bits == 32:
            try readRows(header, from: first, into: &output)
        case 1 where header.bits == 8, 2 where header.bits == 4: try readRuns(header, from: first, into: &output)
        default: throw broken("the bitmap is compressed in an unsupported way (\(header.compression))")
        }
        if isIcon { applyMask(header, from: first, to: &output) }
        return DecodedImage.Raster(size: size, pixels: output)
    }

    private func header(at start: Int) throws -> Header {
        let length = number(at: start, 4)
        guard length >= 12, length <= 256, length <= bytes.count - start else {
            throw broken("the bitmap has no header")
        }
        var header: Header
        if length == 12 {
            header = Header(
                width: number(at: start + 4, 2), height: number(at: start + 6, 2), bits: number(at: start + 10, 2),
                paletteStart: start + 12, paletteEntry: 3)
        } else {
            guard length >= 40 else { throw broken("the bitmap has an unsupported header") }
            let height = signed(at: start + 8)
            header = Header(
                width: signed(at: start + 4), height: abs(height), isTopDown: height < 0,
                bits: number(at: start + 14, 2),
                compression: number(at: start + 16, 4), paletteStart: start + length,
                paletteCount: number(at: start + 32, 4))
        }
        guard [1, 2, 4, 8, 16, 24, 32].contains(header.bits) else {
            throw broken("the bitmap has \(header.bits) bits a pixel")
        }
        if header.bits <= 8, header.paletteCount == 0 || header.paletteCount > 1 << header.bits {
            header.paletteCount = 1 << header.bits
        } else if header.bits > 8 {
            header.paletteCount = min(header.paletteCount, 256)
        }
        try addMasks(to: &header, length, start)
        return header
    }

    private func addMasks(to header: inout Header, _ length: Int, _ start: Int) throws {
        guard header.bits == 16 || header.bits == 32 else { return }
        if header.compression == 3 || header.compression == 6 {
            // The masks are part of a longer header, or follow the short one.
            let count = header.compression == 6 || length >= 56 ? 4 : 3
            header.masks = (0..<count).map { UInt32(number(at: start + 40 + $0 * 4, 4)) }
            if length == 40 { header.paletteStart += count * 4 }
        } else {
            header.masks = header.bits == 16 ? [0x7C00, 0x3E0, 0x1F] : [0xFF0000, 0xFF00, 0xFF]
        }
        while header.masks.count < 4 { header.masks.append(0) }
        // A bitmap file without an alpha mask usually has zeros as alpha, which are ignored. Alpha of an icon is used.
        if header.bits == 32, start == 0, header.masks[3] == 0 { header.masks[3] = 0xFF00_0000 }
    }

    private func color(_ index: Int, _ header: Header) -> (UInt8, UInt8, UInt8) {
        let place = header.paletteStart + index * header.paletteEntry
        guard index < header.paletteCount, place + 2 < bytes.count else { return (0, 0, 0) }
        return (bytes[place + 2], bytes[place + 1], bytes[place])
    }

    private func readRows(_ header: Header, from first: Int, into output: inout [UInt8]) throws {
        let stride = (header.width * header.bits + 31) / 32 * 4
        guard stride * header.height <= bytes.count - first else { throw broken("the bitmap ends in its pixels") }
        let channels = header.masks.map(Channel.init)
        for row in 0..<header.height {
            let line = first + (header.isTopDown ? row : header.height - 1 - row) * stride
            for x in 0..<header.width {
                let place = (row * header.width + x) * 4
                var alpha: UInt8 = 255
                let (red, green, blue): (UInt8, UInt8, UInt8)
                switch header.bits {
                case 24:
                    let pixel = line + x * 3
                    (red, green, blue) = (bytes[pixel + 2], bytes[pixel + 1], bytes[pixel])
                case 16, 32:
                    let pixel = UInt32(number(at: line + x * header.bits / 8, header.bits / 8))
                    (red, green, blue) = (channels[0].of(pixel), channels[1].of(pixel), channels[2].of(pixel))
                    if channels[3].isThere { alpha = channels[3].of(pixel) }
                default:
                    let shift = 8 - header.bits - x * header.bits % 8
                    let index = Int(bytes[line + x * header.bits / 8]) >> shift & (1 << header.bits - 1)
                    (red, green, blue) = color(index, header)
                }
                output[place] = red
                output[place + 1] = green
                output[place + 2] = blue
                output[place + 3] = alpha
            }
        }
    }

    /// The bits of one colour in a pixel.
    private struct Channel {
        private let shift: Int
        private let maximum: UInt32

        init(_ mask: UInt32) {
            shift = mask.trailingZeroBitCount & 31
            maximum = mask == 0 ? 0 : mask >> UInt32(shift)
        }

        var isThere: Bool { maximum > 0 }

        func of(_ pixel: UInt32) -> UInt8 {
            guard maximum > 0 else { return 0 }
            return UInt8(min(255, UInt64(pixel >> UInt32(shift) & maximum) * 255 / UInt64(maximum)))
        }
    }

    /// Reads runs of equal pixels (RLE8 and RLE4). Skipped pixels stay transparent.
    private func readRuns(_ header: Header, from first: Int, into output: inout [UInt8]) throws {
        var (position, x, y) = (first, 0, 0)
        func put(_ index: Int) {
            guard x < header.width, y < header.height else { return }
            let row = header.isTopDown ? y : header.height - 1 - y
            let place = (row * header.width + x) * 4
            (output[place], output[place + 1], output[place + 2]) = color(index, header)
            output[place + 3] = 255
            x += 1
        }
        func index(_ byte: UInt8, _ number: Int) -> Int {
            header.bits == 8 ? Int(byte) : Int(number % 2 == 0 ? byte >> 4 : byte & 15)
        }
        while position + 1 < bytes.count {
            let (count, value) = (Int(bytes[position]), bytes[position + 1])
            position += 2
            if count > 0 {
                for number in 0..<count { put(index(value, number)) }
                continue
            }
            switch value {
            case 0: (x, y) = (0, y + 1)
            case 1: return
            case 2:
                guard position + 1 < bytes.count else { throw broken("the bitmap ends in its pixels") }
                x += Int(bytes[position])
                y += Int(bytes[position + 1])
                position += 2
            default:
                let length = header.bits == 8 ? Int(value) : (Int(value) + 1) / 2
                guard length <= bytes.count - position else { throw broken("the bitmap ends in its pixels") }
                for number in 0..<Int(value) {
                    put(index(bytes[position + (header.bits == 8 ? number : number / 2)], number))
                }
                position += length + length % 2
            }
            // The reader stops beyond the last row.
            if y > header.height { return }
        }
        throw broken("the bitmap ends in its pixels")
    }

    /// Applies the mask of an icon: one bit for each pixel, set if the pixel is transparent. An image with alpha
    /// ignores the mask.
    private func applyMask(_ header: Header, from first: Int, to output: inout [UInt8]) {
        let hasAlpha = stride(from: 3, to: output.count, by: 4).contains { output[$0] != 0 }
        if header.bits == 32, hasAlpha { return }
        let line = (header.width + 31) / 32 * 4
        let mask = first + (header.width * header.bits + 31) / 32 * 4 * header.height
        for row in 0..<header.height {
            for x in 0..<header.width {
                let byte = mask + (header.height - 1 - row) * line + x / 8
                let isTransparent = byte < bytes.count && bytes[byte] >> UInt8(7 - x % 8) & 1 == 1
                output[(row * header.width + x) * 4 + 3] = isTransparent ? 0 : 255
            }
        }
    }
}
#endif
