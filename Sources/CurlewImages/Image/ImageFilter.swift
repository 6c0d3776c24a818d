#if Images
internal import Curlew

/// A transformation of an image with an identifier. The downloader caches the result under that identifier.
///
/// ```swift
/// let filter: ImageFilter = .resized(toFill: Image.Size(64, 64)).followed(by: .rounded(radius: 8))
/// ```
public struct ImageFilter: Sendable {
    /// The identifier of the filter, such as `fill-64x64`.
    public let identifier: String
    private let transform: @Sendable (Image) throws -> Image

    /// - Parameters:
    ///   - identifier: The unique identifier of the filter with its settings.
    ///   - transform: The transformation. It may be called for each frame of an animation.
    public init(identifier: String, _ transform: @escaping @Sendable (Image) throws -> Image) {
        self.identifier = identifier
        self.transform = transform
    }

    /// Applies the filter to an image; to an animation frame by frame.
    /// - Throws: The errors of the filter.
    public func apply(to image: Image) throws -> Image {
        guard !image.frames.isEmpty else { return try transform(image) }
        let frameCount = image.frames.count
        var made: [Image] = []
        for frame in image.frames {
            let image = try transform(image.showing(frame))
            guard image.size == made.first?.size ?? image.size else {
                throw CurlewError(.invalidRequest, "the filter makes frames of several sizes of one animation")
            }
            // A filter may enlarge a small animation with many frames.
            guard image.size.count <= Image.Limits().animationPixels / frameCount else {
                throw CurlewError(.responseTooLarge, "the filter makes an animation of too many pixels")
            }
            made.append(image)
        }
        guard let first = made.first else { return image }
        return first.moving(zip(made, image.frames).map { Image.Frame(pixels: $0.pixels, duration: $1.duration) })
    }

    /// Combines this filter with a following one.
    public func followed(by next: ImageFilter) -> ImageFilter {
        ImageFilter(identifier: "\(identifier)+\(next.identifier)") { try next.transform(transform($0)) }
    }

    /// A filter that resizes the image to exactly this size, without regard to its proportions.
    public static func resized(to size: Image.Size) -> ImageFilter {
        ImageFilter(identifier: "resize-\(size.width)x\(size.height)") { try $0.scaled(to: size) }
    }

    /// A filter that scales the image down to fit into this size, with its proportions; it never enlarges.
    public static func resized(toFit size: Image.Size) -> ImageFilter {
        ImageFilter(identifier: "fit-\(size.width)x\(size.height)") { try $0.scaled(to: $0.size.fitting(into: size)) }
    }

    /// A filter that fills exactly this size with the centre of the image, with its proportions.
    public static func resized(toFill size: Image.Size) -> ImageFilter {
        ImageFilter(identifier: "fill-\(size.width)x\(size.height)") { image in
            try image.checkSides(size)
            // The centre part has the target's proportions, and at least one pixel.
            let factor = min(
                Double(image.size.width) / Double(size.width), Double(image.size.height) / Double(size.height))
            let part = Image.Size(
                min(image.size.width, max(1, Int((Double(size.width) * factor).rounded()))),
                min(image.size.height, max(1, Int((Double(size.height) * factor).rounded()))))
            let (left, top) = ((image.size.width - part.width) / 2, (image.size.height - part.height) / 2)
            return try image.cropped(x: left, y: top, to: part).scaled(to: size)
        }
    }

    /// A filter that crops the image. A part outside the image fails with ``Curlew/ErrorCode/invalidRequest``.
    public static func cropped(x: Int, y: Int, to size: Image.Size) -> ImageFilter {
        ImageFilter(identifier: "crop-\(x)-\(y)-\(size.width)x\(size.height)") { try $0.cropped(x: x, y: y, to: size) }
    }

    /// A filter that rounds the corners, at most up to half of the shorter side.
    /// - Parameter radius: The radius of the corners in pixels.
    public static func rounded(radius: Int) -> ImageFilter {
        ImageFilter(identifier: "round-\(radius)") { $0.withRoundCorners(radius: radius) }
    }

    /// A filter that blurs the image by averaging neighbouring pixels three times.
    /// - Parameter radius: The distance of the averaged neighbours in pixels; 1 to 100.
    public static func blurred(radius: Int) -> ImageFilter {
        ImageFilter(identifier: "blur-\(radius)") { $0.blurred(radius: min(100, max(1, radius))) }
    }
}

extension Image {
    fileprivate func showing(_ frame: Frame) -> Image { with(size, frame.pixels) }

    fileprivate func moving(_ frames: [Frame]) -> Image {
        Image(
            size: size, pixels: pixels, frames: frames, format: format, hasColorProfile: hasColorProfile, scale: scale,
            isTruncated: isTruncated)
    }

    private func with(_ size: Size, _ pixels: [UInt8]) -> Image {
        Image(
            size: size, pixels: pixels, frames: [], format: format, hasColorProfile: hasColorProfile, scale: scale,
            isTruncated: isTruncated)
    }

    /// The maximum side of a filter's result.
    private static let sideLimit = 16_384

    fileprivate func checkSides(_ size: Size) throws {
        guard (1...Self.sideLimit).contains(size.width), (1...Self.sideLimit).contains(size.height) else {
            throw CurlewError(.invalidRequest, "the sides of an image have 1 to \(Self.sideLimit) pixels")
        }
    }

    fileprivate func scaled(to size: Size) throws -> Image {
        guard size != self.size else { return self }
        try checkSides(size)
        return with(size, Pixels.scaled(DecodedImage.Raster(size: self.size, pixels: pixels), to: size).pixels)
    }

    fileprivate func cropped(x: Int, y: Int, to part: Size) throws -> Image {
        guard x >= 0, y >= 0, part.width > 0, part.height > 0, part.width <= size.width - x,
            part.height <= size.height - y
        else { throw CurlewError(.invalidRequest, "the part does not lie in the image") }
        let raster = DecodedImage.Raster(size: size, pixels: pixels).cropped(x: x, y: y, to: part)
        return with(part, raster.pixels)
    }

    fileprivate func withRoundCorners(radius: Int) -> Image {
        let radius = min(max(0, radius), min(size.width, size.height) / 2)
        var pixels = pixels
        for y in 0..<radius {
            for x in 0..<radius {
                let (across, down) = (Double(radius - x) - 0.5, Double(radius - y) - 0.5)
                // The approximate part of the pixel inside the circle.
                let covered = min(1, max(0, Double(radius) - (across * across + down * down).squareRoot() + 0.5))
                guard covered < 1 else { continue }
                for (column, row) in [
                    (x, y), (size.width - 1 - x, y), (x, size.height - 1 - y),
                    (size.width - 1 - x, size.height - 1 - y),
                ] {
                    let place = (row * size.width + column) * 4
                    for channel in place..<(place + 4) { pixels[channel] = UInt8(Double(pixels[channel]) * covered) }
                }
            }
        }
        return with(size, pixels)
    }

    fileprivate func blurred(radius: Int) -> Image {
        var pixels = pixels
        for _ in 0..<3 {
            Self.average(&pixels, lines: size.height, length: size.width, step: 4, lineStep: size.width * 4, radius)
            Self.average(&pixels, lines: size.width, length: size.height, step: size.width * 4, lineStep: 4, radius)
        }
        return with(size, pixels)
    }

    /// Replaces each pixel of each line by the average of its neighbours; the end pixels continue beyond the ends.
    private static func average(
        _ pixels: inout [UInt8], lines: Int, length: Int, step: Int, lineStep: Int, _ radius: Int
    ) {
        var line = [UInt8](repeating: 0, count: length)
        let width = UInt32(2 * radius + 1)
        pixels.withUnsafeMutableBufferPointer { pixels in
            for start in (0..<lines).map({ $0 * lineStep }) {
                for channel in 0..<4 {
                    for index in 0..<length { line[index] = pixels[start + index * step + channel] }
                    var sum = UInt32(line[0]) * UInt32(radius + 1)
                    for index in 1...radius { sum += UInt32(line[min(index, length - 1)]) }
                    for index in 0..<length {
                        pixels[start + index * step + channel] = UInt8((sum + width / 2) / width)
                        sum += UInt32(line[min(index + radius + 1, length - 1)])
                        sum -= UInt32(line[max(index - radius, 0)])
                    }
                }
            }
        }
    }
}
#endif
