#if Images
import Curlew
import Glibc
import Testing

@testable import CurlewImages

@Suite("Broken and hostile images", .timeLimit(.minutes(6)))
struct ImageFaultTests {
    @Test("a file with any wrong byte decodes to an image within the limits, or is an error")
    func corrupt() throws {
        var options = Image.DecodingOptions()
        options.limits.pixels = 100_000
        options.limits.animationPixels = 400_000
        for name in try Fixture.names() where name != "make.py" {
            let bytes = try Fixture.bytes(name)
            // Every byte of short files is changed, and some of the long ones, which mainly consist of pixels.
            for position in stride(from: 0, to: bytes.count, by: bytes.count > 1500 ? 13 : 1) {
                for value: UInt8 in [0, 0xFF, bytes[position] ^ 1] {
                    var copy = bytes
                    copy[position] = value
                    guard let image = try? Image(decoding: copy, options: options) else { continue }
                    #expect(image.size.width * image.size.height <= 100_000)
                }
            }
        }
    }

    @Test("a file that declares an excessive size is refused before memory is allocated for it")
    func bombs() throws {
        // The PNG header declares 50,000 × 50,000, with a valid checksum.
        var png = try Fixture.bytes("plain.png")
        png.replaceSubrange(16..<24, with: [0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50])
        png.replaceSubrange(29..<33, with: pngChecksum(Array(png[12..<29])))
        var gif = try Fixture.bytes("plain.gif")
        gif.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
        var bmp = try Fixture.bytes("24.bmp")
        bmp.replaceSubrange(18..<26, with: [0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F])
        var line = bmp
        line.replaceSubrange(18..<26, with: [0, 0, 0x10, 0, 1, 0, 0, 0])
        var jpeg = try Fixture.bytes("plain.jpg")
        let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
        jpeg.replaceSubrange((frame + 5)..<(frame + 9), with: [0xFF, 0xDC, 0xFF, 0xDC])
        // The first TIFF declares 50,000 × 50,000, the second a single strip of 4 GB.
        let tiff = grayTIFF([(256, 3, 1, 50_000), (257, 3, 1, 50_000), (262, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 1)])
        var webp = try Fixture.bytes("moving.webp")
        webp.replaceSubrange(24..<30, with: [0x7F, 0x3E, 0, 0x7F, 0x3E, 0])
        var avif = try Fixture.bytes("plain.avif")
        let extent = try #require(avif.indices.first { avif[$0...].starts(with: Array("ispe".utf8)) })
        avif.replaceSubrange((extent + 8)..<(extent + 16), with: [0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50])
        for (name, bytes) in [
            ("png", png), ("gif", gif), ("bmp", bmp), ("line", line), ("jpeg", jpeg), ("tiff", tiff), ("webp", webp),
        ] {
            let error = #expect(throws: CurlewError.self, "\(name)") { _ = try Image(decoding: bytes) }
            #expect(error?.code == .responseTooLarge, "\(name): \(String(describing: error))")
        }
        // libavif applies its own limit, and reports it in its own words.
        #expect(throws: CurlewError.self) { _ = try Image(decoding: avif) }
    }

    @Test(
        "a TIFF with false strips, samples or pixels is refused without memory for the declared amounts"
    )
    func lyingTIFF() throws {
        let honest = [
            (256, 3, 1, 4), (257, 3, 1, 4), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
            (277, 3, 1, 1),
            (278, 3, 1, 4), (279, 4, 1, 16),
        ]
        #expect(try Image(decoding: grayTIFF(honest)).size == Image.Size(4, 4))
        let before = peakMemory()
        for (lie, tag, value) in [
            ("a strip of 4 GB", 279, 0xFFFF_FFFF), ("a strip beyond the end", 273, 0x7FFF_FFFF),
            ("65,535 samples a pixel", 277, 0xFFFF), ("64 bits a sample", 258, 64), ("no sample", 277, 0),
            ("a compression that there is not", 259, 0xFFF0), ("65,535 columns without pixels", 256, 0xFFFF),
        ] {
            let lying = honest.map { $0.0 == tag ? ($0.0, $0.1, $0.2, value) : $0 }
            let image = try? Image(decoding: grayTIFF(lying))
            // A truncated strip is accepted if the pixels do not need the rest.
            #expect(image == nil || image?.size == Image.Size(4, 4), "\(lie)")
        }
        #expect(peakMemory() - before < 64 << 20)
    }

    @Test("tables and tiles of a TIFF that share bytes use no more memory and time than the size of the file justifies")
    func sharedTIFF() throws {
        // The 2,000 unknown entries all name the same 64 KB.
        let shared = (0..<2000).map { (40_000 + $0, 7, 65_536, 8) }
        let directory =
            littleEndian(shared.count, 2)
            + shared.flatMap { entry in
                littleEndian(entry.0, 2) + littleEndian(entry.1, 2) + littleEndian(entry.2, 4)
                    + littleEndian(entry.3, 4)
            }
        let head: [UInt8] = [0x49, 0x49, 0x2A, 0] + littleEndian(8 + 65_536, 4)
        let tables = head + [UInt8](repeating: 1, count: 65_536) + directory + littleEndian(0, 4)
        let before = peakMemory()
        #expect(throws: CurlewError.self) { _ = try Image(decoding: tables) }
        #expect(peakMemory() - before < 32 << 20)
        // The image has a few pixels, and a hundred tiles of sixty-four million pixels.
        let offsets = (0..<100).flatMap { _ in littleEndian(8, 4) }
        let tiles: [(Int, Int, Int, Int)] = [
            (256, 4, 1, 1600), (257, 4, 1, 16), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1),
            (322, 4, 1, 16), (323, 4, 1, 4_000_000), (324, 4, 100, 8), (325, 4, 100, 8),
        ]
        var file: [UInt8] = [0x49, 0x49, 0x2A, 0] + littleEndian(8 + 400, 4) + offsets + littleEndian(tiles.count, 2)
        for (tag, type, count, value) in tiles {
            file += littleEndian(tag, 2) + littleEndian(type, 2) + littleEndian(count, 4) + littleEndian(value, 4)
        }
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: file + littleEndian(0, 4)) }
        #expect(error?.code == .responseTooLarge)
    }

    @Test(
        "an AVIF with AV1 images larger than declared is refused, alone and as tiles, and so is one with too many tiles"
    )
    func lyingAVIF() throws {
        var alone = try Fixture.bytes("plain.avif")
        let extent = try #require(alone.indices.first { alone[$0...].starts(with: Array("ispe".utf8)) })
        alone.replaceSubrange((extent + 8)..<(extent + 16), with: [0, 0, 0, 24, 0, 0, 0, 16])
        let tiles = try Fixture.bytes("bomb.avif")
        // The image declares 512 × 512 in 64 tiles, which have a million pixels each.
        let before = peakMemory()
        for bytes in [alone, tiles] {
            let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bytes) }
            #expect(error?.code == .decodingFailed)
        }
        #expect(peakMemory() - before < 48 << 20)
        let entry: [UInt8] = Array("infe".utf8) + [2, 0, 0, 0, 0, 9, 0, 0] + Array("av01".utf8)
        let many = alone + Array(repeatElement(entry, count: 512).joined()) + [0, 0]
        #expect(AVIFItems(many).imageCount == 513)
        #expect(throws: CurlewError.self) { _ = try Image(decoding: many) }
        #expect(
            AVIFItems(try Fixture.bytes("grid.avif")).codedPixels(of: Image.Size(128, 128), hasAlpha: false) == 128
                * 128)
        #expect(AVIFItems(tiles).codedPixels(of: Image.Size(512, 512), hasAlpha: false) == 4 * 64 * 64)
    }

    @Test("repeated metadata of an AVIF is not read and uses no memory")
    func sharedMetadata() throws {
        let plain = try Fixture.bytes("plain.avif")
        let (count, size) = (3000, 20_000)
        func big(_ value: Int, _ count: Int) -> [UInt8] { littleEndian(value, count).reversed() }
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            big(content.count + 8, 4) + Array(type.utf8) + content
        }
        func boxes(in range: Range<Int>) -> [String: Range<Int>] {
            var (found, place) = ([String: Range<Int>](), range.lowerBound)
            while place < range.upperBound {
                let end = place + plain[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
                found[String(decoding: plain[(place + 4)..<(place + 8)], as: UTF8.self)] = (place + 8)..<end
                place = end
            }
            return found
        }
        let file = boxes(in: 0..<plain.count)
        let (meta, data) = (try #require(file["meta"]), try #require(file["mdat"]))
        let parts = boxes(in: (meta.lowerBound + 4)..<meta.upperBound)
        func kept(_ type: String) throws -> [UInt8] { box(type, Array(plain[try #require(parts[type])])) }
        // The offsets depend on the sizes of the boxes before them, which do not depend on the offsets.
        func start(imageAt place: Int) throws -> [UInt8] {
            let image = big(1, 2) + big(0, 2) + big(1, 2) + big(place, 4) + big(data.count, 4)
            let half = big(place + data.count, 4) + big(size, 4)
            var places = [0, 0, 0, 0, 0x44, 0] + big(count + 1, 2) + image
            let infos = try #require(parts["iinf"])
            var items = [0, 0, 0, 0] + big(count + 1, 2) + Array(plain[infos].dropFirst(6))
            var links = [0, 0, 0, 0] as [UInt8]
            for item in 2..<(count + 2) {
                places += big(item, 2) + big(0, 2) + big(2, 2) + half + half
                items += box("infe", [2, 0, 0, 0] + big(item, 2) + [0, 0] + Array("Exif\0".utf8))
                links += box("cdsc", big(item, 2) + [0, 1, 0, 1])
            }
            let all =
                try kept("hdlr") + kept("pitm") + box("iloc", places) + box("iinf", items) + box("iref", links)
                + kept("iprp")
            return Array(plain[..<(meta.lowerBound - 8)]) + box("meta", [0, 0, 0, 0] + all)
        }
        let head = try start(imageAt: start(imageAt: 0).count + 8)
        let bytes = head + box("mdat", Array(plain[data]) + [UInt8](repeating: 0, count: size))
        let before = peakMemory()
        try Image(decoding: bytes).expectQuarters()
        #expect(peakMemory() - before < 64 << 20)
    }

    @Test("a BMP of one bit with Huffman compression is refused, not misread")
    func huffmanBMP() throws {
        var bmp = try Fixture.bytes("8.bmp")
        bmp[28] = 1
        bmp[30] = 3
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bmp) }
        #expect(error?.code == .decodingFailed)
    }

    @Test("a GIF of a million frames is refused at frame 2,001, without memory for more")
    func millionFrames() throws {
        #expect(Image.Limits().frames == 2000)
        let screen: [UInt8] = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 255, 255, 255, 0, 0, 0]
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        let bomb = screen + Array(repeatElement(frame, count: 1_000_000).joined()) + [0x3B]
        let before = peakMemory()
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bomb) }
        #expect(error?.code == .responseTooLarge)
        #expect(peakMemory() - before < 32 << 20)
    }

    @Test("an invalid colour profile is reported and changes no pixel", arguments: ["png", "jpeg"])
    func garbageProfile(_ format: String) throws {
        var file = try Fixture.bytes(format == "png" ? "plain.png" : "profile.jpg")
        if format == "png" {
            let chunk = Array("iCCPname\0\0garbage".utf8)
            file.insert(contentsOf: littleEndian(chunk.count - 4, 4).reversed() + chunk + pngChecksum(chunk), at: 33)
        } else {
            let profile = try #require(file.indices.first { file[$0...].starts(with: Array("ICC_PROFILE\0".utf8)) })
            for place in (profile + 12)..<(profile + 300) { file[place] = 0x5A }
        }
        let image = try Image(decoding: file)
        image.expectQuarters()
        #expect(image.hasColorProfile)
    }

    @Test("text chunks of a PNG, however many and long, are not read and use no memory")
    func textBomb() throws {
        let png = try Fixture.bytes("plain.png")
        // The file has a hundred texts of seven million letters.
        let text = Array("zTXta\0\0".utf8) + letters(7_000_000)
        let length: [UInt8] = littleEndian(text.count - 4, 4).reversed()
        let written: [UInt8] = length + text + pngChecksum(text)
        let bomb = Array(png[..<33]) + Array(repeatElement(written, count: 100).joined()) + Array(png[33...])
        let before = peakMemory()
        try Image(decoding: bomb).expectQuarters()
        #expect(peakMemory() - before < 300 << 20)
    }

    @Test("an animation with too many frames or pixels is refused")
    func longAnimation() throws {
        for name in ["moving.gif", "moving.webp", "moving.avif"] {
            var options = Image.DecodingOptions()
            options.limits.frames = 1
            #expect(throws: CurlewError.self, "\(name)") {
                _ = try Image(decoding: Fixture.bytes(name), options: options)
            }
            options.limits = Image.Limits()
            options.limits.animationPixels = 48 * 32 + 1
            #expect(throws: CurlewError.self, "\(name)") {
                _ = try Image(decoding: Fixture.bytes(name), options: options)
            }
            options.decodesAnimation = false
            try Image(decoding: Fixture.bytes(name), options: options).expectQuarters(tolerance: 20)
        }
    }

    @Test("the limit of a reduced animation counts its stored frames in full size")
    func largeAnimation() throws {
        var options = Image.DecodingOptions(fitting: Image.Size(10, 10))
        options.limits.animationPixels = 1_000_000
        // The canvas has a thousand pixels in each direction, and each frame paints one.
        let screen: [UInt8] = Array("GIF89a".utf8) + [0xE8, 3, 0xE8, 3, 0x80, 0, 0, 255, 255, 255, 0, 0, 0]
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        for (count, isRead) in [(20, true), (40, false)] {
            let file = screen + Array(repeatElement(frame, count: count).joined()) + [0x3B]
            let frames = try? Image(decoding: file, options: options).frames.count
            #expect(frames == (isRead ? count : nil))
        }
    }

    @Test("frame durations remain valid if their sum exceeds the range of the codec")
    func longTimes() throws {
        let file = try Fixture.bytes("moving.webp")
        // The first frame is repeated two hundred times with the longest possible duration: more than 2^31 ms in total.
        let start = try #require(file.indices.first { file[$0...].starts(with: Array("ANMF".utf8)) })
        let length = file[(start + 4)..<(start + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
        var frame = Array(file[start..<(start + 8 + length + length % 2)])
        frame.replaceSubrange(20..<23, with: [0xFF, 0xFF, 0xFF])
        var long = Array(file[..<start]) + Array(repeatElement(frame, count: 200).joined())
        let size = long.count - 8
        long.replaceSubrange(4..<8, with: (0..<4).map { UInt8(truncatingIfNeeded: size >> ($0 * 8)) })
        let image = try Image(decoding: long)
        #expect(image.frames.count == 200)
        #expect(image.frames.first?.duration == .milliseconds(0xFFFFFF))
        #expect(image.frames.allSatisfy { $0.duration >= .zero })
    }

    @Test("a JPEG of many scans of many pixels is refused")
    func manyScans() throws {
        // The file has 17 scans.
        let file = try Fixture.bytes("scans.jpg")
        var options = Image.DecodingOptions()
        options.limits.animationPixels = 2 * 48 * 32
        try Image(decoding: file, options: options).expectQuarters()
        options.limits.animationPixels -= 1
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: file, options: options) }
        #expect(error?.code == .responseTooLarge)
    }

    @Test("an image without pixels is refused")
    func nothing() throws {
        var gif = try Fixture.bytes("plain.gif")
        gif.replaceSubrange(6..<8, with: [0, 0])
        var png = try Fixture.bytes("plain.png")
        png.replaceSubrange(16..<20, with: [0, 0, 0, 0])
        png.replaceSubrange(29..<33, with: pngChecksum(Array(png[12..<29])))
        var bmp = try Fixture.bytes("24.bmp")
        bmp.replaceSubrange(22..<26, with: [0, 0, 0, 0])
        let tiff = grayTIFF([(256, 3, 1, 0), (257, 3, 1, 4), (262, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 16)])
        for bytes in [gif, png, bmp, tiff] {
            let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bytes) }
            #expect(error?.code == .decodingFailed)
        }
        #expect(throws: CurlewError.self) { _ = try Image(size: Image.Size(0, 1), pixels: []) }
        #expect(throws: CurlewError.self) { _ = try Image(size: Image.Size(1, 1), pixels: [1, 2, 3]) }
    }

    /// At least this number of letters a in zlib format (RFC 1950 and 1951): one letter, and copies of it, each of 258
    /// letters.
    private func letters(_ least: Int) -> [UInt8] {
        let copies = least / 258 + 1
        let bits = "11010010001" + String(repeating: "1100010100000", count: copies) + "0000000"
        var (bytes, place): ([UInt8], Int) = ([0x78, 0x9C], 0)
        for bit in bits.utf8 {
            if place % 8 == 0 { bytes.append(0) }
            bytes[bytes.count - 1] |= (bit & 1) << (place % 8)
            place += 1
        }
        let count = copies * 258 + 1
        let sum = ((count + 97 * count * (count + 1) / 2) % 65521) << 16 | (1 + 97 * count) % 65521
        return bytes + littleEndian(sum, 4).reversed()
    }

    /// The peak memory of this process.
    private func peakMemory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1024
    }
}
#endif
