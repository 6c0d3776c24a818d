#if Images
internal import CGIF
internal import Curlew

/// GIF, by giflib, record by record: a file may claim any number of frames.
enum GIFCodec {
    static func decode(_ bytes: [UInt8], _ options: Image.DecodingOptions) throws -> DecodedImage {
        try bytes.withUnsafeBufferPointer { bytes in
            guard let address = bytes.baseAddress else { throw broken("the GIF is empty") }
            var source = curlew_gif_source(bytes: address, size: bytes.count, position: 0)
            return try withUnsafeMutablePointer(to: &source) { source in
                var code: Int32 = 0
                guard let file = curlew_gif_open(source, &code) else { throw broken("the GIF is broken (\(code))") }
                defer { curlew_gif_close(file) }
                var reader = try GIFReader(file, options)
                return DecodedImage(rasters: try reader.read(), isPremultiplied: true)
            }
        }
    }
}

/// Reads the records of a GIF, and paints each frame over what the ones before have left.
private struct GIFReader {
    private let file: UnsafeMutablePointer<GifFileType>
    private let options: Image.DecodingOptions
    private let size: Image.Size
    private let kept: Image.Size
    private var canvas: [UInt8]
    private var control = Control()
    private var rasters: [DecodedImage.Raster] = []

    /// What is said of the next frame.
    private struct Control {
        var duration = Duration.zero
        var transparent: Int?
        /// 2 clears the frame's place after it was shown, 3 brings back what was there.
        var disposal = 0
    }

    init(_ file: UnsafeMutablePointer<GifFileType>, _ options: Image.DecodingOptions) throws {
        self.file = file
        self.options = options
        size = Image.Size(Int(file.pointee.SWidth), Int(file.pointee.SHeight))
        try options.limits.check(size.width, size.height)
        kept = options.fitting.map(size.fitting) ?? size
        canvas = [UInt8](repeating: 0, count: size.count * 4)
    }

    mutating func read() throws -> [DecodedImage.Raster] {
        while true {
            var record = UNDEFINED_RECORD_TYPE
            guard DGifGetRecordType(file, &record) != GIF_ERROR else { throw error() }
            switch record {
            case IMAGE_DESC_RECORD_TYPE:
                try readFrame()
                if !options.decodesAnimation { return rasters }
            case EXTENSION_RECORD_TYPE: try readExtension()
            case TERMINATE_RECORD_TYPE: return rasters
            default: break
            }
        }
    }

    private func error() -> CurlewError { broken("the GIF is broken (\(file.pointee.Error))") }

    private mutating func readExtension() throws {
        var code: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        guard DGifGetExtension(file, &code, &block) != GIF_ERROR else { throw error() }
        while let bytes = block {
            // The first byte is the length of what follows.
            if code == GRAPHICS_EXT_FUNC_CODE, bytes[0] >= 4 {
                let hundredths = Int(bytes[2]) | Int(bytes[3]) << 8
                control = Control(
                    duration: .milliseconds(hundredths * 10), transparent: bytes[1] & 1 == 1 ? Int(bytes[4]) : nil,
                    disposal: Int(bytes[1] >> 2 & 7))
            }
            guard DGifGetExtensionNext(file, &block) != GIF_ERROR else { throw error() }
        }
    }

    private mutating func readFrame() throws {
        guard DGifGetImageDesc(file) != GIF_ERROR else { throw error() }
        let frame = file.pointee.Image
        let (left, top, width, height) = (Int(frame.Left), Int(frame.Top), Int(frame.Width), Int(frame.Height))
        guard width > 0, height > 0, left >= 0, top >= 0, left + width <= size.width, top + height <= size.height else {
            throw broken("a frame of the GIF lies outside of it")
        }
        try options.limits.check(frames: rasters.count + 1, of: size, kept: kept)
        // Like libraries of its kind, giflib keeps a record of every frame.
        let map = frame.ColorMap ?? file.pointee.SColorMap
        guard let map, let colors = map.pointee.Colors else { throw broken("the GIF has no colours") }
        let before = control.disposal == 3 ? canvas : []
        var line = [GifPixelType](repeating: 0, count: width)
        for row in Self.rows(height, isInterlaced: frame.Interlace) {
            guard DGifGetLine(file, &line, Int32(width)) != GIF_ERROR else { throw error() }
            var place = ((top + row) * size.width + left) * 4
            for index in line {
                defer { place += 4 }
                if Int(index) == control.transparent { continue }
                // An index beyond the colours is that of none: it shows what lies beneath.
                guard Int(index) < Int(map.pointee.ColorCount) else { continue }
                let color = colors[Int(index)]
                canvas[place] = color.Red
                canvas[place + 1] = color.Green
                canvas[place + 2] = color.Blue
                canvas[place + 3] = 255
            }
        }
        let whole = DecodedImage.Raster(size: size, pixels: canvas, duration: control.duration)
        rasters.append(kept == size ? whole : Pixels.scaled(whole, to: kept))
        switch control.disposal {
        case 2:
            for row in top..<(top + height) {
                let start = (row * size.width + left) * 4
                for place in start..<(start + width * 4) { canvas[place] = 0 }
            }
        case 3: canvas = before
        default: break
        }
        control = Control()
    }

    /// The rows in the order in which they are stored.
    private static func rows(_ height: Int, isInterlaced: Bool) -> [Int] {
        guard isInterlaced else { return Array(0..<height) }
        return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    }
}
#endif
