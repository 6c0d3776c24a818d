#if Images
import Curlew
import Testing

@testable import CurlewImages

@Suite("Truncated images, and frames beyond the canvas", .timeLimit(.minutes(2)))
struct ImageTruncationTests {
    @Test("a truncated file is an error, has all its pixels, or is marked as truncated")
    func truncated() throws {
        var refusing = Image.DecodingOptions()
        refusing.refusesTruncated = true
        for name in [
            "plain.png", "plain.jpg", "plain.gif", "moving.gif", "lossless.webp", "plain.avif", "lzw.tif", "8.bmp",
            "bmp.ico", "moving.webp", "progressive.jpg", "cmyk.jpg", "png.ico", "moving.avif", "packbits.tif",
        ] {
            let bytes = try Fixture.bytes(name)
            let whole = try Image(decoding: bytes)
            #expect(!whole.isTruncated, "\(name)")
            for length in 0..<bytes.count {
                let start = Array(bytes[..<length])
                guard let image = try? Image(decoding: start) else { continue }
                #expect(image.size == whole.size && image.frames.count <= whole.frames.count, "\(name), \(length)")
                if image.isTruncated {
                    let error = #expect(throws: CurlewError.self, "\(name), \(length)") {
                        try Image(decoding: start, options: refusing)
                    }
                    #expect(error?.code == .decodingFailed)
                } else {
                    // The missing bytes are a checksum or the end marker, but no pixel.
                    #expect(image.pixels == whole.pixels, "\(name) cut off after \(length) of \(bytes.count) bytes")
                    #expect(image.frames.count == whole.frames.count, "\(name) cut off after \(length) bytes")
                }
            }
        }
    }

    /// Files of formats with partial display.
    static let partial = [
        "plain.png", "plain.jpg", "progressive.jpg", "cmyk.jpg", "plain.gif", "moving.gif", "lossless.webp",
    ]

    @Test(
        "a file without its last bytes shows its first pixels as the complete file does",
        arguments: partial)
    func shownInPart(_ name: String) throws {
        let bytes = try Fixture.bytes(name)
        let whole = try Image(decoding: bytes)
        let last = try Image(decoding: Array(bytes.dropLast()))
        #expect(last.isTruncated && last.size == whole.size)
        #expect(last.pixels.prefix(whole.size.width * 4) == whole.pixels.prefix(whole.size.width * 4))
        let small = try Image(decoding: Array(bytes.dropLast()), options: Image.DecodingOptions(fitting: .init(8, 8)))
        #expect(small.isTruncated && small.size.width <= 8)
        #expect(try ImageFilter.resized(toFill: .init(4, 4)).apply(to: last).isTruncated)
        #expect(try ImageFilter.rounded(radius: 1).followed(by: .resized(to: .init(4, 4))).apply(to: last).isTruncated)
    }

    @Test("a file without any pixel data is refused")
    func nothingCame() throws {
        for name in ["plain.png", "plain.gif", "plain.jpg"] {
            let bytes = try Fixture.bytes(name)
            let end: Int =
                switch name {
                case "plain.png": try #require(bytes.indices.first { bytes[$0...].starts(with: "IDAT".utf8) }) + 4
                case "plain.gif": try #require(bytes.indices.dropFirst(13).first { bytes[$0] == 0x2C }) + 10
                default: try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
                }
            let error = #expect(throws: CurlewError.self, "\(name)") { _ = try Image(decoding: Array(bytes[..<end])) }
            #expect(error?.code == .decodingFailed)
        }
    }

    /// A GIF with an empty canvas and white frames.
    private func gif(_ canvas: Image.Size, frames: [(left: Int, top: Int, size: Image.Size)]) -> [UInt8] {
        func word(_ number: Int) -> [UInt8] { littleEndian(number, 2) }
        let screen =
            Array("GIF89a".utf8) + word(canvas.width) + word(canvas.height) + [0x80, 0, 0, 0, 0, 0, 255, 255, 255]
        let images = frames.flatMap { frame -> [UInt8] in
            // Codes of three bits: clear and the colour, repeated for each pixel, so that no code grows longer.
            var bits: [UInt8] = []
            func add(_ code: UInt8) { for place in 0..<3 { bits.append(code >> place & 1) } }
            for _ in 0..<(frame.size.width * frame.size.height) {
                add(4)
                add(1)
            }
            add(5)
            let data = stride(from: 0, to: bits.count, by: 8).map { start in
                bits[start..<min(start + 8, bits.count)].enumerated().reduce(UInt8(0)) { $0 | $1.element << $1.offset }
            }
            let blocks = stride(from: 0, to: data.count, by: 255).flatMap { start -> [UInt8] in
                let block = data[start..<min(start + 255, data.count)]
                return [UInt8(block.count)] + block
            }
            return [0x2C] + word(frame.left) + word(frame.top) + word(frame.size.width) + word(frame.size.height) + [
                0, 2,
            ]
                + blocks + [0]
        }
        return screen + images + [0x3B]
    }

    @Test("a first frame beyond the canvas enlarges it, and a later frame is clipped")
    func framesBeyond() throws {
        let enlarged = try Image(decoding: gif(.init(2, 2), frames: [(1, 1, .init(3, 2))]))
        #expect(enlarged.size == Image.Size(4, 3) && !enlarged.isTruncated)
        #expect(enlarged.pixels[(1 * 4 + 1) * 4..<(1 * 4 + 4) * 4].allSatisfy { $0 == 255 })
        #expect(enlarged.pixels[..<16].allSatisfy { $0 == 0 })
        let cut = try Image(
            decoding: gif(.init(4, 4), frames: [(0, 0, .init(1, 1)), (2, 2, .init(5, 5)), (9, 9, .init(2, 2))]))
        #expect(cut.size == Image.Size(4, 4) && cut.frames.count == 3)
        let second = cut.frames[1].pixels
        #expect(second[(2 * 4 + 2) * 4..<(2 * 4 + 4) * 4].allSatisfy { $0 == 255 })
        #expect(second[(3 * 4 + 2) * 4..<(3 * 4 + 4) * 4].allSatisfy { $0 == 255 })
        #expect(second[4..<16].allSatisfy { $0 == 0 })
        #expect(cut.frames[2].pixels == second)
    }

    @Test("the limits count frames beyond the canvas in full")
    func frameLimits() throws {
        var options = Image.DecodingOptions()
        options.limits.pixels = 100
        for frame in [(0, 0, Image.Size(11, 10)), (5, 0, .init(10, 7))] {
            let error = #expect(throws: CurlewError.self) {
                try Image(decoding: gif(.init(2, 2), frames: [frame]), options: options)
            }
            #expect(error?.code == .responseTooLarge)
        }
        let later = gif(.init(2, 2), frames: [(0, 0, .init(1, 1)), (9, 9, .init(11, 10))])
        #expect(throws: CurlewError.self) { try Image(decoding: later, options: options) }
        options.limits.animationPixels = 10
        let many = gif(.init(1, 1), frames: [(0, 0, .init(1, 1))] + Array(repeating: (9, 9, .init(10, 10)), count: 2))
        let error = #expect(throws: CurlewError.self) { try Image(decoding: many, options: options) }
        #expect(error?.code == .responseTooLarge)
    }

    @Test("a JPEG with stray bytes between its segments is read, and one whose pixels end early is marked as truncated")
    func oddBytes() throws {
        let file = try Fixture.bytes("plain.jpg")
        let table = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xDB })
        var odd = file
        odd.insert(contentsOf: [1, 2, 3], at: table)
        try Image(decoding: odd).expectQuarters(tolerance: 20)
        try Image(decoding: Array(file.dropLast(2)) + [1, 2, 3, 0xFF, 0xD9]).expectQuarters(tolerance: 20)
        // The end marker is present, and half of the pixels are missing.
        let scan = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xDA })
        let early = Array(file[..<((scan + file.count) / 2)]) + [0xFF, 0xD9]
        // The warning about the stray bytes hides all others.
        var oddEarly = early
        oddEarly.insert(contentsOf: [1, 2, 3], at: table)
        for bytes in [early, Array(early.dropLast(2)), Array(odd.dropLast(2)), oddEarly] {
            #expect(try Image(decoding: bytes).isTruncated)
        }
    }
}
#endif
