#if Images
internal import CTurboJPEG
internal import Curlew

/// JPEG, by libjpeg-turbo.
enum JPEGCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedPicture {
        try decode(bytes, options, markers: JPEGMarkers(bytes), isWhole: true)
    }

    /// The beginning of a progressive file shows the whole picture, coarsely, once its first scan is there. nil for what shows nothing yet.
    static func decodeBeginning(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedPicture? {
        let markers = JPEGMarkers(bytes)
        guard markers.isProgressive, markers.hasWholeScan else { return nil }
        return try decode(bytes, options, markers: markers, isWhole: false)
    }

    private static func decode(
        _ bytes: [UInt8], _ options: Image.DecodingOptions, markers: JPEGMarkers, isWhole: Bool
    ) throws -> DecodedPicture {
        guard let decoder = tjInitDecompress() else {
            throw CurlewError(.resourcesExhausted, "no memory for a JPEG decoder")
        }
        defer { tjDestroy(decoder) }
        var (width, height, sampling, space) = (Int32(0), Int32(0), Int32(0), Int32(0))
        let header = tjDecompressHeader3(decoder, bytes, UInt(bytes.count), &width, &height, &sampling, &space)
        // A warning is reported as a failure, though the header was read.
        guard header == 0 || isHarmless(decoder) && width > 0 && height > 0 && space >= 0 else { throw error(decoder) }
        try options.limits.check(Int(width), Int(height))
        try options.limits.check(scans: markers.scanCount, of: Image.Size(Int(width), Int(height)))
        let isInks = space == Int32(TJCS_CMYK.rawValue) || space == Int32(TJCS_YCCK.rawValue)
        let size = decodedSize(Image.Size(Int(width), Int(height)), markers.orientation, options.fitting)
        var pixels = try [UInt8](unsafeUninitializedCapacity: size.count * 4) { pixels, count in
            pixels.initialize(repeating: 0)
            let format = isInks ? TJPF_CMYK : TJPF_RGBA
            // A file of a million scans would keep the decoder busy for hours.
            let result = tjDecompress2(
                decoder, bytes, UInt(bytes.count), pixels.baseAddress, Int32(size.width), 0, Int32(size.height),
                format.rawValue.asInt32, TJFLAG_LIMITSCANS)
            // The first warning hides all others.
            guard
                result == 0
                    || isHarmless(decoder, isWhole: isWhole)
                        && (!isWhole || curlew_jpeg_is_whole(bytes, UInt(bytes.count)) != 0)
            else { throw error(decoder) }
            count = size.count * 4
        }
        if isInks { mixInks(&pixels) }
        return DecodedPicture(
            rasters: [DecodedPicture.Raster(size: size, pixels: pixels)], isPremultiplied: true,
            orientation: markers.orientation, hasColorProfile: markers.hasColorProfile)
    }

    static func encode(_ image: Image, quality: Int) throws -> [UInt8] {
        guard let encoder = tjInitCompress() else {
            throw CurlewError(.resourcesExhausted, "no memory for a JPEG encoder")
        }
        defer { tjDestroy(encoder) }
        var buffer: UnsafeMutablePointer<UInt8>?
        var size: UInt = 0
        defer { tjFree(buffer) }
        // There is no alpha: the colours are multiplied by it, so that what is transparent is black.
        let result = tjCompress2(
            encoder, image.pixels, Int32(image.size.width), 0, Int32(image.size.height), TJPF_RGBX.rawValue.asInt32,
            &buffer,
            &size, TJSAMP_420.rawValue.asInt32, Int32(quality), 0)
        guard result == 0, let buffer else {
            throw CurlewError(
                .encodingFailed, "the picture cannot be a JPEG: \(String(cString: tjGetErrorStr2(encoder)))")
        }
        return Array(UnsafeBufferPointer(start: buffer, count: Int(size)))
    }

    /// The size to decode to: eighths of the picture's, the smallest that the target fits into.
    private static func decodedSize(_ size: Image.Size, _ orientation: Orientation, _ target: Image.Size?) -> Image.Size
    {
        guard let target else { return size }
        let stored = orientation.swapsAxes ? Image.Size(target.height, target.width) : target
        let fitted = size.fitting(into: stored)
        // Whole halves, quarters and eighths alone: the decoder has fast ways for them.
        for divisor in [8, 4, 2] {
            let scaled = Image.Size((size.width + divisor - 1) / divisor, (size.height + divisor - 1) / divisor)
            if scaled.width >= fitted.width, scaled.height >= fitted.height { return scaled }
        }
        return size
    }

    /// True for warnings of odd bytes between markers and the like, which change no pixel, and, of a beginning, for that of its end. An error
    /// after a warning is reported as a warning, so that the text counts.
    private static func isHarmless(_ decoder: tjhandle, isWhole: Bool = true) -> Bool {
        guard tjGetErrorCode(decoder) == TJERR_WARNING.rawValue.asInt32 else { return false }
        let message = String(cString: tjGetErrorStr2(decoder))
        return message.contains("extraneous bytes before marker") || message.contains("unknown JFIF revision")
            || message.contains("Unknown Adobe color transform")
            || message.contains("Invalid SOS parameters for sequential JPEG")
            || !isWhole && message.contains("Premature end of JPEG file")
    }

    private static func error(_ decoder: tjhandle) -> CurlewError {
        broken("the JPEG is broken: \(String(cString: tjGetErrorStr2(decoder)))")
    }

    /// Inks to colours. Files of Adobe's programs, and so nearly all, have the inks inverted: 255 is none.
    private static func mixInks(_ pixels: inout [UInt8]) {
        pixels.withUnsafeMutableBufferPointer { pixels in
            for index in stride(from: 0, to: pixels.count, by: 4) {
                let black = UInt32(pixels[index + 3])
                for channel in index..<(index + 3) {
                    pixels[channel] = UInt8((UInt32(pixels[channel]) * black + 127) / 255)
                }
                pixels[index + 3] = 255
            }
        }
    }
}

extension UInt32 {
    fileprivate var asInt32: Int32 { Int32(bitPattern: self) }
}

extension Int32 {
    fileprivate var asInt32: Int32 { self }
}

/// What the segments before the pixels say, and how far these have come.
private struct JPEGMarkers {
    private(set) var orientation = Orientation.upright
    private(set) var hasColorProfile = false
    /// True if the picture comes in scans that refine it.
    private(set) var isProgressive = false
    /// True if a scan is followed by another one.
    var hasWholeScan: Bool { scans(from: firstScan) > 0 }
    /// The most scans that the file can have. The whole file counts: the decoder may find scans where none are expected.
    var scanCount: Int { scans(from: 0) }

    /// The number of scans from an offset. Among the pixels a byte of FF is followed by 00 or the number of a restart.
    private func scans(from start: Int?) -> Int {
        guard let start, start < bytes.count else { return 0 }
        return bytes.withUnsafeBufferPointer { bytes in
            var (count, isMarker) = (0, false)
            for byte in bytes[start...] {
                if isMarker, byte == 0xDA { count += 1 }
                isMarker = byte == 0xFF
            }
            return count
        }
    }

    private var firstScan: Int?
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var position = 2
        while position + 4 <= bytes.count {
            let marker = bytes[position + 1]
            // Odd bytes, a filling one, or markers that stand alone.
            guard bytes[position] == 0xFF, marker != 0xFF, marker > 0x01, !(0xD0...0xD8).contains(marker) else {
                position += 1
                continue
            }
            // Where the pixels begin, nothing more is said.
            if marker == 0xDA { firstScan = position + 2 }
            if marker == 0xDA || marker == 0xD9 { return }
            if marker == 0xC2 { isProgressive = true }
            let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
            guard length >= 2 else {
                position += 4
                continue
            }
            guard position + 2 + length <= bytes.count else { return }
            let content = bytes[(position + 4)..<(position + 2 + length)]
            if marker == 0xE1, content.starts(with: Array("Exif\0\0".utf8)) { orientation = Orientation(exif: content) }
            if marker == 0xE2, content.starts(with: Array("ICC_PROFILE\0".utf8)) { hasColorProfile = true }
            position += 2 + length
        }
    }
}
#endif
