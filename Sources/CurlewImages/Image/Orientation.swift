#if Images
/// How a stored image is turned and mirrored to be seen (EXIF 2.32 §4.6.4, tag 0x0112): 1 to 8.
struct Orientation: Equatable {
    let number: Int

    static let upright = Orientation(number: 1)

    /// What is out of range is upright.
    init(number: Int) { self.number = (1...8).contains(number) ? number : 1 }

    /// True if width and height change places.
    var swapsAxes: Bool { number >= 5 }

    func applied(to raster: DecodedImage.Raster) -> DecodedImage.Raster {
        guard number != 1 else { return raster }
        let (width, height) = (raster.size.width, raster.size.height)
        let size = swapsAxes ? Image.Size(height, width) : raster.size
        let pixels = [UInt8](unsafeUninitializedCapacity: raster.pixels.count) { target, count in
            raster.pixels.withUnsafeBytes { source in
                let from = source.assumingMemoryBound(to: UInt32.self)
                let to = UnsafeMutableRawBufferPointer(target).assumingMemoryBound(to: UInt32.self)
                for y in 0..<size.height {
                    for x in 0..<size.width {
                        let (sx, sy) = self.source(x, y, width, height)
                        to[y * size.width + x] = from[sy * width + sx]
                    }
                }
            }
            count = raster.pixels.count
        }
        return DecodedImage.Raster(size: size, pixels: pixels, duration: raster.duration)
    }

    /// Where the pixel that is seen at a place is stored.
    private func source(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> (Int, Int) {
        switch number {
        case 2: (width - 1 - x, y)
        case 3: (width - 1 - x, height - 1 - y)
        case 4: (x, height - 1 - y)
        case 5: (y, x)
        case 6: (y, height - 1 - x)
        case 7: (width - 1 - y, height - 1 - x)
        default: (width - 1 - y, x)
        }
    }

    /// Reads it from EXIF data: a TIFF header and its first directory. What cannot be read is upright.
    init(exif bytes: ArraySlice<UInt8>) {
        var bytes = bytes
        if bytes.starts(with: Array("Exif\0\0".utf8)) { bytes = bytes.dropFirst(6) }
        self.init(number: Self.number(in: bytes) ?? 1)
    }

    private static func number(in bytes: ArraySlice<UInt8>) -> Int? {
        let isLittle = bytes.starts(with: [0x49, 0x49, 0x2A, 0])
        guard isLittle || bytes.starts(with: [0x4D, 0x4D, 0, 0x2A]) else { return nil }
        func number(at offset: Int, _ count: Int) -> Int? {
            guard offset >= 0, offset <= bytes.count - count else { return nil }
            let slice = bytes[(bytes.startIndex + offset)..<(bytes.startIndex + offset + count)]
            return isLittle ? slice.reversed().reduce(0) { $0 << 8 | Int($1) } : slice.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let directory = number(at: 4, 4), let count = number(at: directory, 2) else { return nil }
        for index in 0..<min(count, 512) {
            let entry = directory + 2 + index * 12
            if number(at: entry, 2) == 0x0112 { return number(at: entry + 8, 2) }
        }
        return nil
    }
}
#endif
