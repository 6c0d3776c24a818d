#if Images
internal import CTIFF
internal import Curlew

/// The decoder of the first image of a TIFF, by libtiff.
enum TIFFCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        try bytes.withUnsafeBufferPointer { bytes in
            guard let address = bytes.baseAddress else { throw broken("the TIFF is empty") }
            var source = curlew_tiff_source(bytes: address, size: tmsize_t(bytes.count), position: 0, budget: 0)
            return try withUnsafeMutablePointer(to: &source) { source in
                // Strips and tables are limited to the size of the allowed pixels.
                guard let tiff = curlew_tiff_open(source, tmsize_t(clamping: options.limits.pixels) &* 8)
                else { throw broken("the TIFF is broken") }
                defer { TIFFClose(tiff) }
                curlew_tiff_allow(source)
                return try decode(tiff, options)
            }
        }
    }

    private static func decode(_ tiff: OpaquePointer, _ options: Image.DecodingOptions) throws -> DecodedImage {
        var (width, height) = (UInt32(0), UInt32(0))
        guard curlew_tiff_get32(tiff, UInt32(TIFFTAG_IMAGEWIDTH), &width) == 1,
            curlew_tiff_get32(tiff, UInt32(TIFFTAG_IMAGELENGTH), &height) == 1
        else { throw broken("the TIFF does not declare its size") }
        try options.limits.check(Int(width), Int(height))
        // Tiles may be larger than the image, and pixels may have many samples that are not colours.
        guard curlew_tiff_decoded_size(tiff) / 16 <= UInt64(clamping: options.limits.pixels) else {
            throw CurlewError(.responseTooLarge, "the strips or tiles of the TIFF are larger than its pixels may be")
        }
        let gray = curlew_tiff_gray(tiff)
        guard gray != curlew_tiff_gray_wrong else {
            throw broken("the TIFF has grey pixels with an unsupported alpha")
        }
        var orientation: UInt16 = 1
        _ = curlew_tiff_get16(tiff, UInt32(TIFFTAG_ORIENTATION), &orientation)
        // libtiff mirrors but does not rotate, so the orientation is applied after decoding.
        _ = curlew_tiff_set16(tiff, UInt32(TIFFTAG_ORIENTATION), UInt16(ORIENTATION_TOPLEFT))
        let size = Image.Size(Int(width), Int(height))
        let pixels = try [UInt8](unsafeUninitializedCapacity: size.count * 4) { pixels, count in
            pixels.initialize(repeating: 0)
            guard let address = pixels.baseAddress else { return }
            // On a little-endian machine the words consist of red, green, blue and alpha in this order.
            let isRead = UnsafeMutableRawPointer(address).withMemoryRebound(to: UInt32.self, capacity: size.count) {
                TIFFReadRGBAImageOriented(tiff, width, height, $0, Int32(ORIENTATION_TOPLEFT), 1)
            }
            guard isRead == 1 else { throw broken("the TIFF is broken, or of an unsupported kind") }
            count = size.count * 4
        }
        return DecodedImage(
            rasters: [DecodedImage.Raster(size: size, pixels: pixels)],
            isPremultiplied: gray != curlew_tiff_gray_plain, orientation: Orientation(number: Int(orientation)),
            hasColorProfile: curlew_tiff_has_profile(tiff) != 0)
    }
}
#endif
