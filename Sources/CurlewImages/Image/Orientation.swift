#if Images
/// The rotation and mirroring for the display of a stored image (EXIF 2.32 §4.6.4, tag 0x0112): 1 to 8.
struct Orientation: Equatable {
    let number: Int

    static let upright = Orientation(number: 1)

    /// Makes an orientation; a number out of range means upright.
    init(number: Int) { self.number = (1...8).contains(number) ? number : 1 }

    /// True if the orientation swaps width and height.
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

    /// The stored position of a displayed pixel.
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

    /// Reads the orientation from EXIF data: a TIFF header and its first directory. Invalid data means upright.
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
