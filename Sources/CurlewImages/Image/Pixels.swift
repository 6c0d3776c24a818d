#if Images
/// Operations on pixels: four bytes each, red, green, blue and alpha.
enum Pixels {
    /// Multiplies the colours by alpha.
    static func premultiply(_ pixels: inout [UInt8]) {
        pixels.withUnsafeMutableBufferPointer { pixels in
            for index in stride(from: 0, to: pixels.count, by: 4) {
                let alpha = UInt32(pixels[index + 3])
                if alpha == 255 { continue }
                for channel in index..<(index + 3) {
                    pixels[channel] = UInt8(truncatingIfNeeded: (UInt32(pixels[channel]) * alpha + 127) / 255)
                }
            }
        }
    }

    /// Reverses the premultiplication, for formats that store colours without it.
    static func unpremultiplied(_ pixels: [UInt8]) -> [UInt8] {
        var pixels = pixels
        pixels.withUnsafeMutableBufferPointer { pixels in
            for index in stride(from: 0, to: pixels.count, by: 4) {
                let alpha = UInt32(pixels[index + 3])
                if alpha == 255 || alpha == 0 { continue }
                for channel in index..<(index + 3) {
                    pixels[channel] = UInt8(min(255, (UInt32(pixels[channel]) * 255 + alpha / 2) / alpha))
                }
            }
        }
        return pixels
    }

    /// Scales a raster. Each pixel is the average of the area that it covers, or an interpolation of its neighbours
    /// where the raster is enlarged.
    static func scaled(_ raster: DecodedImage.Raster, to size: Image.Size) -> DecodedImage.Raster {
        let across = Weights(from: raster.size.width, to: size.width)
        let down = Weights(from: raster.size.height, to: size.height)
        let (sourceWidth, width, height) = (raster.size.width, size.width, size.height)
        let pixels = [UInt8](unsafeUninitializedCapacity: size.count * 4) { target, count in
            raster.pixels.withUnsafeBufferPointer { source in
                // A target row is a weighted sum of source rows, which is then scaled horizontally.
                var sums = [UInt32](repeating: 0, count: sourceWidth * 4)
                for y in 0..<height {
                    sums.withUnsafeMutableBufferPointer { sums in
                        sums.update(repeating: 0)
                        for (index, weight) in down.of(y) {
                            let row = UnsafeBufferPointer(
                                rebasing: source[(index * sourceWidth * 4)..<((index + 1) * sourceWidth * 4)])
                            for byte in 0..<row.count { sums[byte] &+= UInt32(row[byte]) &* weight }
                        }
                        for x in 0..<width {
                            var (red, green, blue, alpha) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
                            for (index, weight) in across.of(x) {
                                let weight = UInt64(weight)
                                red &+= UInt64(sums[index * 4]) &* weight
                                green &+= UInt64(sums[index * 4 + 1]) &* weight
                                blue &+= UInt64(sums[index * 4 + 2]) &* weight
                                alpha &+= UInt64(sums[index * 4 + 3]) &* weight
                            }
                            let place = (y * width + x) * 4
                            target[place] = Weights.rounded(red)
                            target[place + 1] = Weights.rounded(green)
                            target[place + 2] = Weights.rounded(blue)
                            target[place + 3] = Weights.rounded(alpha)
                        }
                    }
                }
            }
            count = size.count * 4
        }
        return DecodedImage.Raster(size: size, pixels: pixels, duration: raster.duration)
    }

    /// The weights of source samples in each target sample of a line. They add up to ``one``.
    private struct Weights {
        static let one: UInt32 = 1 << 16

        private var first: [Int] = []
        private var starts: [Int] = [0]
        private var weights: [UInt32] = []

        init(from source: Int, to target: Int) {
            let ratio = Double(source) / Double(target)
            for position in 0..<target {
                let (low, parts) =
                    ratio >= 1
                    ? Self.area(Double(position) * ratio, Double(position + 1) * ratio, source)
                    : Self.between((Double(position) + 0.5) * ratio - 0.5, source)
                let total = parts.reduce(0, +)
                // The running sum is rounded, not each part: the rounding errors of thousands of small parts would add
                // up.
                var (sum, before) = (0.0, UInt32(0))
                for (index, part) in parts.enumerated() {
                    sum += part
                    let after =
                        index == parts.count - 1
                        ? Self.one : min(Self.one, UInt32((sum / total * Double(Self.one)).rounded()))
                    weights.append(after - before)
                    before = after
                }
                first.append(low)
                starts.append(weights.count)
            }
        }

        /// The samples of an interval, weighted by their overlap.
        private static func area(_ start: Double, _ end: Double, _ count: Int) -> (Int, [Double]) {
            let low = min(count - 1, Int(start))
            let high = min(count, max(low + 1, Int(end.rounded(.up))))
            return (low, (low..<high).map { max(0, min(end, Double($0 + 1)) - max(start, Double($0))) })
        }

        /// The two samples around a position.
        private static func between(_ place: Double, _ count: Int) -> (Int, [Double]) {
            let place = max(0, min(Double(count - 1), place))
            let low = min(Int(place), max(0, count - 2))
            let fraction = place - Double(low)
            return count == 1 ? (0, [1]) : (low, [1 - fraction, fraction])
        }

        func of(_ position: Int) -> Zip2Sequence<Range<Int>, ArraySlice<UInt32>> {
            let range = starts[position]..<starts[position + 1]
            return zip(first[position]..<(first[position] + range.count), weights[range])
        }

        /// Rounds a sum of bytes, each multiplied by two weights.
        static func rounded(_ sum: UInt64) -> UInt8 { UInt8(min(255, (sum &+ 1 << 31) >> 32)) }
    }
}
#endif
