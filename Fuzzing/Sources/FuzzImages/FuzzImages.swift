internal import FuzzingKit

@testable internal import CurlewImages

/// A fuzz target for images of every codec. Decoded images must stay within the bounds, also those of memory, and must
/// have the declared number of pixels. They must stay equal after writing and reading, and must be rejected if pixels
/// are missing.
///
/// The input is a file. If it does not begin like a known format, its first byte chooses the options.
@main
struct FuzzImages: FuzzTarget {
    static func check(_ input: [UInt8]) {
        let isPlain = ImageFormat(of: input) != nil
        let choice = isPlain ? 0 : input.first ?? 0
        let bytes = isPlain ? input : Array(input.dropFirst())
        var options = Image.DecodingOptions()
        // Large images take long, so few of them are allowed.
        options.limits.pixels = choice & 12 == 12 ? 1 << 23 : 1 << 20
        options.limits.animationPixels = 1 << 22
        options.limits.frames = 50
        options.decodesAnimation = choice & 1 == 0
        if choice & 2 != 0 { options.fitting = Image.Size(40, 30) }
        // The limit covers the stored image, the kept image, its rotation, a copy, and the codec's own memory.
        let memory = options.limits.pixels * 16 + options.limits.animationPixels * 8 + 32 << 20
        let (part, whole) = requireMemory(below: memory, "a picture takes too much memory") {
            (try? Image.beginning(of: bytes, options: options), try? Image(decoding: bytes, options: options))
        }
        if let part { check(part, options) }
        guard let image = whole else { return }
        check(image, options)
        let size = image.size
        require(image.frames.count <= 50, "there are too many pictures")
        require(image.frames.allSatisfy { $0.pixels.count == image.pixels.count }, "pictures differ in size")
        // A WebP cannot have longer sides.
        guard image.pixels.count <= 1 << 18, max(size.width, size.height) < 1 << 14 else { return }
        for encoding in [Image.Encoding.png, .losslessWebP] {
            guard let file = try? image.encoded(as: encoding) else { return require(false, "it cannot be written") }
            guard let again = try? Image(decoding: file) else { return require(false, "it cannot be read again") }
            require(again.size == size, "it has another size when read again")
            let isAlike = zip(again.pixels, image.pixels).allSatisfy { abs(Int($0) - Int($1)) <= 1 }
            require(isAlike || !image.isPremultiplied, "it is another one when read again")
        }
        for encoding in [Image.Encoding.png, .losslessWebP, .jpeg()] {
            guard let file = try? image.encoded(as: encoding) else { return require(false, "it cannot be written") }
            let length = file.count * Int(choice) / 256
            let part = Array(file[..<length])
            var strict = Image.DecodingOptions()
            strict.refusesTruncated = true
            guard let cut = try? Image(decoding: part) else { continue }
            // A truncated file must either have all pixels or be marked as truncated.
            let isWhole = try? cut.pixels == Image(decoding: file).pixels
            require(isWhole == true || cut.isTruncated, "\(length) of \(file.count) bytes are another picture")
            let isRefused = (try? Image(decoding: part, options: strict)) == nil
            require(isRefused == cut.isTruncated, "a cut picture is taken where it is to be refused")
        }
    }

    private static func check(_ image: Image, _ options: Image.DecodingOptions) {
        let size = image.size
        require(size.width > 0 && size.height > 0 && size.count <= options.limits.pixels, "a picture is too large")
        require(image.pixels.count == size.width * size.height * 4, "there are not as many pixels as the size says")
        guard let fitting = options.fitting else { return }
        require(size.width <= fitting.width && size.height <= fitting.height, "a picture does not fit")
    }
}

extension Image {
    /// True if no colour is brighter than its alpha.
    fileprivate var isPremultiplied: Bool {
        stride(from: 0, to: pixels.count, by: 4).allSatisfy { place in
            pixels[place..<(place + 3)].allSatisfy { $0 <= pixels[place + 3] }
        }
    }
}
