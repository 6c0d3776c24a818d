#if Images
internal import CGIF
internal import Curlew

/// The GIF decoder, by giflib, record by record, because a file may claim any number of frames.
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
                try reader.read()
                return DecodedImage(
                    rasters: reader.rasters, isPremultiplied: true, isTruncated: reader.isTruncated)
            }
        }
    }
}

/// A reader of a GIF's records that paints each frame over the previous ones.
private struct GIFReader {
    private(set) var rasters: [DecodedImage.Raster] = []
    /// True if the file ended within a record, or without the end marker.
    private(set) var isTruncated = false
    private let file: UnsafeMutablePointer<GifFileType>
    private let options: Image.DecodingOptions
    private var size: Image.Size
    private var kept: Image.Size
    private var canvas: [UInt8]
    private var control = Control()
    /// The number of decoded pixels of all frames, including those beyond the canvas.
    private var decodedPixels = 0

    /// The control data of the next frame.
    private struct Control {
        var duration = Duration.zero
        var transparent: Int?
        /// The disposal method: 2 clears the frame's area after its display, 3 restores the earlier content.
        var disposal = 0
    }

    /// The area of a frame, which may extend beyond the canvas.
    private struct Frame {
        let left: Int
        let top: Int
        let size: Image.Size
        let isInterlaced: Bool

        init(_ description: GifImageDesc) {
            (left, top) = (Int(description.Left), Int(description.Top))
            size = Image.Size(Int(description.Width), Int(description.Height))
            isInterlaced = description.Interlace
        }

        /// The rows in the order in which they are stored.
        var rows: [Int] {
            guard isInterlaced else { return Array(0..<size.height) }
            return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: size.height, by: $0.1)) }
        }
    }

    /// An error for a file that ends too early.
    private struct EndOfFile: Error {}

    init(_ file: UnsafeMutablePointer<GifFileType>, _ options: Image.DecodingOptions) throws {
        self.file = file
        self.options = options
        size = Image.Size(Int(file.pointee.SWidth), Int(file.pointee.SHeight))
        try options.limits.check(size.width, size.height)
        kept = options.fitting.map(size.fitting) ?? size
        canvas = [UInt8](repeating: 0, count: size.count * 4)
    }

    mutating func read() throws {
        do {
            try readRecords()
        } catch is EndOfFile {
            guard !rasters.isEmpty else { throw broken("the GIF ends before its first image") }
            isTruncated = true
        }
    }

    private mutating func readRecords() throws {
        while true {
            var record = UNDEFINED_RECORD_TYPE
            guard DGifGetRecordType(file, &record) != GIF_ERROR else { throw error() }
            switch record {
            case IMAGE_DESC_RECORD_TYPE:
                try readFrame()
                if !options.decodesAnimation { return }
            case EXTENSION_RECORD_TYPE: try readExtension()
            case TERMINATE_RECORD_TYPE: return
            default: break
            }
        }
    }

    private func error() -> any Error {
        let code = file.pointee.Error
        return code == D_GIF_ERR_READ_FAILED || code == D_GIF_ERR_EOF_TOO_SOON
            ? EndOfFile() : broken("the GIF is broken (\(code))")
    }

    private mutating func readExtension() throws {
        var code: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        guard DGifGetExtension(file, &code, &block) != GIF_ERROR else { throw error() }
        while let bytes = block {
            // The first byte is the length of the rest.
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
        let description = file.pointee.Image
        let frame = Frame(description)
        try makeRoom(for: frame)
        // giflib keeps a record of every frame, like similar libraries.
        guard let map = description.ColorMap ?? file.pointee.SColorMap, map.pointee.Colors != nil else {
            throw broken("the GIF has no colours")
        }
        let before = control.disposal == 3 ? canvas : []
        let (count, end) = try paint(frame, map.pointee)
        // A truncated frame without any row is not added.
        if let end, count == 0 { throw end }
        let whole = DecodedImage.Raster(size: size, pixels: canvas, duration: control.duration)
        rasters.append(kept == size ? whole : Pixels.scaled(whole, to: kept))
        dispose(of: frame, before)
        control = Control()
        if let end { throw end }
    }

    /// Checks the size of a frame. The first frame may enlarge the canvas, as in browsers; later frames are cropped.
    private mutating func makeRoom(for frame: Frame) throws {
        try options.limits.check(frame.size.width, frame.size.height)
        decodedPixels += frame.size.count
        guard rasters.isEmpty || decodedPixels / 16 <= options.limits.animationPixels else {
            throw CurlewError(
                .responseTooLarge, "the animation has more than \(options.limits.animationPixels) pixels")
        }
        let needed = Image.Size(
            max(size.width, frame.left + frame.size.width), max(size.height, frame.top + frame.size.height))
        if rasters.isEmpty, needed != size {
            try options.limits.check(needed.width, needed.height)
            size = needed
            kept = options.fitting.map(size.fitting) ?? size
            canvas = []
            canvas = [UInt8](repeating: 0, count: size.count * 4)
        }
        try options.limits.check(frames: rasters.count + 1, of: size, kept: kept)
    }

    /// Paints the rows of a frame.
    /// - Returns: The number of complete rows, and the error if the file ended before the last row.
    private mutating func paint(_ frame: Frame, _ map: ColorMapObject) throws -> (count: Int, end: EndOfFile?) {
        var line = [GifPixelType](repeating: 0, count: frame.size.width)
        var count = 0
        for row in frame.rows {
            guard DGifGetLine(file, &line, Int32(line.count)) != GIF_ERROR else {
                let error = error()
                guard let end = error as? EndOfFile else { throw error }
                return (count, end)
            }
            count += 1
            guard frame.top + row < size.height, frame.left < size.width else { continue }
            var place = ((frame.top + row) * size.width + frame.left) * 4
            for index in line.prefix(size.width - frame.left) {
                defer { place += 4 }
                if Int(index) == control.transparent { continue }
                // An index beyond the colour table is treated as transparent.
                guard Int(index) < Int(map.ColorCount) else { continue }
                let color = map.Colors[Int(index)]
                canvas[place] = color.Red
                canvas[place + 1] = color.Green
                canvas[place + 2] = color.Blue
                canvas[place + 3] = 255
            }
        }
        return (count, nil)
    }

    /// Disposes of a frame after its display, by its disposal method.
    private mutating func dispose(of frame: Frame, _ before: [UInt8]) {
        switch control.disposal {
        case 2:
            let width = min(frame.size.width, size.width - frame.left)
            guard width > 0, frame.top < size.height else { return }
            for row in frame.top..<min(size.height, frame.top + frame.size.height) {
                let start = (row * size.width + frame.left) * 4
                for place in start..<(start + width * 4) { canvas[place] = 0 }
            }
        case 3: canvas = before
        default: break
        }
    }
}
#endif
