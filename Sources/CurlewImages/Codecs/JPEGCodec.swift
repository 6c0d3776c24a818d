#if Images
internal import CJPEG
internal import Curlew

/// The JPEG decoder, by libjpeg-turbo.
enum JPEGCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        do {
            return try decode(bytes, bytes.count, options)
        } catch JPEGFailure.inLastSegment(let start) {
            // Tables lie between two scans. If a table is truncated, libjpeg fails, but it can read the file up to
            // there.
            return try decode(bytes, start, options)
        }
    }

    private enum JPEGFailure: Error {
        /// The file ends within the segment that begins at this offset.
        case inLastSegment(Int)
    }

    private static func decode(_ bytes: [UInt8], _ count: Int, _ options: Image.DecodingOptions) throws -> DecodedImage
    {
        try withDecoder(of: bytes, count) { decoder in
            guard decoder.pointee.base.src.pointee.bytes_in_buffer > 0 else { throw broken("the JPEG has no pixels") }
            do {
                return try decode(decoder, options, allowsEnd: !options.refusesTruncated)
            } catch let error as CurlewError {
                let isCut = decoder.pointee.errors.is_truncated != 0 && error.code == .decodingFailed
                guard isCut, !options.refusesTruncated, count == bytes.count, let start = lastSegment(of: bytes) else {
                    throw error
                }
                throw JPEGFailure.inLastSegment(start)
            }
        }
    }

    /// The start of the last marker that is not inside a scan.
    private static func lastSegment(of bytes: [UInt8]) -> Int? {
        bytes.indices.dropLast().last { place in
            let code = bytes[place + 1]
            return bytes[place] == 0xFF && code > 0 && code < 0xFF && !(0xD0...0xD7).contains(code)
        }
    }

    /// Decodes the beginning of a progressive file, which shows a coarse version of the image after its first scan; nil
    /// before that.
    static func decodeBeginning(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage? {
        try withDecoder(of: bytes) { decoder in
            guard decoder.pointee.base.progressive_mode != 0 else { return nil }
            let decoded = try decode(decoder, options, allowsEnd: true)
            // The first scan is complete when a second scan has begun.
            return decoder.pointee.base.input_scan_number > 1 ? decoded : nil
        }
    }

    private typealias Decoder = UnsafeMutablePointer<curlew_jpeg_decoder>

    /// Calls `body` with a decoder that has read the header.
    private static func withDecoder<Value>(
        of bytes: [UInt8], _ count: Int? = nil, _ body: (Decoder) throws -> Value
    ) throws -> Value {
        guard let decoder = curlew_jpeg_open() else {
            throw CurlewError(.resourcesExhausted, "no memory for a JPEG decoder")
        }
        defer { curlew_jpeg_close(decoder) }
        return try bytes.withUnsafeBufferPointer { bytes in
            let count = UInt(count ?? bytes.count)
            guard let address = bytes.baseAddress, curlew_jpeg_read_header(decoder, address, count) != 0 else {
                throw error(decoder)
            }
            return try body(decoder)
        }
    }

    private static func decode(_ decoder: Decoder, _ options: Image.DecodingOptions, allowsEnd: Bool) throws
        -> DecodedImage
    {
        let stored = Image.Size(Int(decoder.pointee.base.image_width), Int(decoder.pointee.base.image_height))
        try options.limits.check(stored.width, stored.height)
        let segments = segments(decoder)
        let divisor = divisor(of: stored, segments.orientation, options.fitting)
        let size = divided(stored, divisor)
        let scanLimit = options.limits.scans(of: stored)
        var pixels = try [UInt8](unsafeUninitializedCapacity: size.count * 4) { pixels, count in
            pixels.initialize(repeating: 0)
            guard let address = pixels.baseAddress else { return }
            let isRead = curlew_jpeg_read_pixels(
                decoder, UInt32(divisor), Int32(scanLimit), allowsEnd ? 1 : 0, address, UInt32(size.width),
                UInt32(size.height))
            guard isRead != 0 else {
                guard decoder.pointee.errors.has_too_many_scans == 0 else {
                    throw CurlewError(
                        .responseTooLarge,
                        "the JPEG has more than \(scanLimit) scans of \(stored.width) × \(stored.height) pixels")
                }
                throw error(decoder)
            }
            count = size.count * 4
        }
        if decoder.pointee.base.out_color_space == JCS_CMYK { mixInks(&pixels) }
        return DecodedImage(
            rasters: [DecodedImage.Raster(size: size, pixels: pixels)], isPremultiplied: true,
            orientation: segments.orientation, hasColorProfile: segments.hasColorProfile,
            isTruncated: decoder.pointee.errors.is_truncated != 0)
    }

    /// The orientation and the colour profile of the segments before the pixels.
    private static func segments(_ decoder: Decoder) -> (orientation: Orientation, hasColorProfile: Bool) {
        var (orientation, hasColorProfile) = (Orientation.upright, false)
        var next = decoder.pointee.base.marker_list
        while let segment = next?.pointee {
            let content = UnsafeBufferPointer(start: segment.data, count: Int(segment.data_length))
            if content.starts(with: "Exif\0\0".utf8) { orientation = Orientation(exif: Array(content)[...]) }
            if content.starts(with: "ICC_PROFILE\0".utf8) { hasColorProfile = true }
            next = segment.next
        }
        return (orientation, hasColorProfile)
    }

    static func encode(_ image: Image, quality: Int) throws -> [UInt8] {
        guard max(image.size.width, image.size.height) <= JPEG_MAX_DIMENSION else {
            throw CurlewError(
                .encodingFailed, "the image cannot be a JPEG: its sides have at most \(JPEG_MAX_DIMENSION) pixels")
        }
        var count: UInt = 0
        var message = [CChar](repeating: 0, count: Int(JMSG_LENGTH_MAX))
        // JPEG has no alpha. The colours are premultiplied, so transparent pixels become black.
        let file = curlew_jpeg_write(
            image.pixels, UInt32(image.size.width), UInt32(image.size.height), Int32(quality), &count, &message)
        guard let file else {
            let reason = String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw CurlewError(.encodingFailed, "the image cannot be a JPEG: \(reason)")
        }
        defer { free(file) }
        return Array(UnsafeBufferPointer(start: file, count: Int(count)))
    }

    /// The divisor of the sides with which the image is still large enough for the target. The decoder skips the
    /// unneeded data, and has fast paths for halves, quarters and eighths.
    private static func divisor(of size: Image.Size, _ orientation: Orientation, _ target: Image.Size?) -> Int {
        guard let target else { return 1 }
        let fitted = size.fitting(into: orientation.swapsAxes ? Image.Size(target.height, target.width) : target)
        return [8, 4, 2].first {
            divided(size, $0).width >= fitted.width && divided(size, $0).height >= fitted.height
        } ?? 1
    }

    private static func divided(_ size: Image.Size, _ divisor: Int) -> Image.Size {
        Image.Size((size.width + divisor - 1) / divisor, (size.height + divisor - 1) / divisor)
    }

    private static func error(_ decoder: Decoder) -> CurlewError {
        broken("the JPEG is broken: \(String(cString: curlew_jpeg_message(decoder)))")
    }

    /// Converts CMYK inks to colours. In files of Adobe's programs, which are nearly all, the inks are inverted: 255
    /// means no ink.
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
#endif
