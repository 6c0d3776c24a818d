#if Images
import Curlew
import Glibc
import SeededNumbers
import Testing

@testable import CurlewImages

@Suite("Pictures are decoded", .timeLimit(.minutes(2)))
struct DecodingTests {
    @Test(
        "a picture of any format shows what it should",
        arguments: [
            "plain.png", "palette.png", "plain.jpg", "progressive.jpg", "profile.jpg", "plain.gif", "interlaced.gif",
            "lossy.webp", "lossless.webp", "plain.avif", "raw.tif", "lzw.tif", "adobe_deflate.tif", "packbits.tif",
            "24.bmp",
            "8.bmp", "32.bmp", "png.ico", "bmp.ico",
        ])
    func formats(_ name: String) throws {
        let image = try Image(decoding: Fixture.bytes(name))
        #expect(image.size == (name.hasSuffix("ico") ? Image.Size(32, 32) : Image.Size(48, 32)))
        #expect(image.pixels.count == image.size.width * image.size.height * 4 && image.frames.isEmpty)
        #expect(image.hasColorProfile == (name == "profile.jpg"))
        image.expectQuarters(tolerance: 20)
    }

    @Test("a picture of inks is read as colours")
    func inks() throws { try Image(decoding: Fixture.bytes("cmyk.jpg")).expectQuarters(tolerance: 24) }

    @Test(
        "interlaced pictures of PngSuite, at every depth, have the colours that another reader finds",
        arguments: [
            ("0g01", [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 255]),
            ("0g02", [0, 0, 0, 255, 170, 170, 170, 255, 170, 170, 170, 255]),
            ("0g04", [0, 0, 0, 255, 102, 102, 102, 255, 238, 238, 238, 255]),
            ("0g08", [0, 0, 0, 255, 135, 135, 135, 255, 3, 3, 3, 255]),
            ("2c08", [255, 255, 255, 255, 122, 255, 255, 255, 0, 0, 0, 255]),
            ("3p01", [238, 255, 34, 255, 238, 255, 34, 255, 238, 255, 34, 255]),
            ("3p02", [0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255]),
            ("3p04", [255, 0, 0, 255, 0, 255, 68, 255, 255, 0, 187, 255]),
            ("3p08", [1, 0, 0, 255, 255, 164, 68, 255, 255, 254, 255, 255]),
            ("4a08", [0, 0, 0, 0, 14, 14, 14, 41, 0, 0, 0, 255]),
            ("6a08", [0, 0, 0, 0, 0, 41, 20, 41, 0, 32, 255, 255]),
            ("0g16", [0, 0, 0, 255, 85, 85, 85, 255, 1, 1, 1, 255]),
            ("2c16", [255, 255, 0, 255, 214, 90, 0, 255, 0, 0, 255, 255]),
            ("4a16", [0, 0, 0, 0, 47, 47, 47, 82, 0, 0, 0, 0]),
            ("6a16", [0, 0, 0, 0, 82, 23, 0, 82, 0, 0, 0, 0]),
        ])
    func interlaced(_ name: String, _ colors: [Int]) throws {
        let image = try Image(decoding: Fixture.bytes("PngSuite/ibasn\(name).png"))
        let found = image.color(0, 0) + image.color(5, 20) + image.color(31, 31)
        #expect(zip(found, colors).allSatisfy { abs(Int($0) - $1) <= 1 }, "\(found)")
    }

    @Test("pictures of PngSuite of all kinds are read, and those that say that their values are linear are brighter")
    func suite() throws {
        let names = try Fixture.names(".png", in: "PngSuite").filter { $0.hasPrefix("bas") }
        #expect(names.count == 15)
        for name in names {
            let image = try Image(decoding: Fixture.bytes("PngSuite/\(name)"))
            #expect(image.size == Image.Size(32, 32))
            let hasAlpha = name.hasPrefix("basn4") || name.hasPrefix("basn6")
            let isGray = name.hasPrefix("basn0") || name.hasPrefix("basn4")
            var (isOfGray, isOpaque) = (true, true)
            for place in 0..<1024 {
                let color = image.color(place % 32, place / 32)
                isOfGray = isOfGray && color[0] == color[1] && color[1] == color[2]
                isOpaque = isOpaque && color[3] == 255
            }
            #expect(isOfGray == isGray && isOpaque != hasAlpha, "\(name)")
            // 135 of 255 without gAMA; gAMA 1.0 makes it 191 of sRGB.
            if name == "basn0g08.png" { #expect(abs(Int(image.color(5, 20)[0]) - 191) <= 2) }
        }
    }

    @Test("a picture is turned upright", arguments: 1...8)
    func turned(_ number: Int) throws {
        for name in ["turned-\(number).jpg", "turned-\(number).avif"] {
            let image = try Image(decoding: Fixture.bytes(name))
            #expect(image.size == Image.Size(48, 32), "\(name)")
            image.expectQuarters(tolerance: 20, "\(name)")
        }
        // Also where it is made smaller while it is decoded.
        let small = try Image(
            decoding: Fixture.bytes("turned-\(number).jpg"), options: .init(fitting: Image.Size(24, 24)))
        #expect(small.size == Image.Size(24, 16))
        small.expectQuarters()
    }

    @Test("EXIF counts in other formats, too", arguments: ["turned-6.png", "turned-6.webp", "turned-6.tif"])
    func turnedOthers(_ name: String) throws {
        let image = try Image(decoding: Fixture.bytes(name))
        #expect(image.size == Image.Size(48, 32))
        image.expectQuarters()
    }

    @Test("an animation has its pictures and their times", arguments: ["moving.gif", "moving.webp", "moving.avif"])
    func animation(_ name: String) throws {
        let image = try Image(decoding: Fixture.bytes(name))
        let isShort = name == "moving.avif"
        #expect(image.frames.map(\.duration) == (isShort ? [100, 250] : [100, 250, 40]).map { .milliseconds($0) })
        image.expectQuarters(tolerance: 20)
        let second = Image(
            size: image.size, pixels: image.frames[1].pixels, frames: [], format: nil, hasColorProfile: false)
        #expect(second.color(36, 24)[0] > 200 && second.color(36, 24)[1] < 50)
        var options = Image.DecodingOptions()
        options.decodesAnimation = false
        #expect(try Image(decoding: Fixture.bytes(name), options: options).frames.isEmpty)
    }

    @Test("half transparent colours are multiplied by their alpha", arguments: ["half.png", "half.webp"])
    func alpha(_ name: String) throws {
        let color = try Image(decoding: Fixture.bytes(name)).color(3, 3)
        #expect(zip(color, [100, 50, 25, 128]).allSatisfy { abs(Int($0) - $1) <= 1 }, "\(color)")
    }

    @Test("a picture is made to fit while it is decoded, in every format, and is not enlarged")
    func fitting() throws {
        for name in try Fixture.names() where !["half", "cmyk", "grid", "clap"].contains(where: name.hasPrefix) {
            let bytes = try Fixture.bytes(name)
            guard ImageFormat(of: bytes) != nil, !name.hasSuffix("ico"), !name.hasPrefix("b") else { continue }
            let image = try Image(decoding: bytes, options: .init(fitting: Image.Size(12, 100)))
            #expect(image.size == Image.Size(12, 8), "\(name)")
            image.expectQuarters(tolerance: 24, "\(name)")
            #expect(
                try Image(decoding: bytes, options: .init(fitting: Image.Size(500, 500))).size == Image.Size(48, 32))
        }
    }

    @Test("the bytes count, whatever they are called, and what is no picture is refused")
    func sniffing() throws {
        for (text, isPicture) in [
            ("", false), ("<html><img></html>", false), ("GIF89", false), ("BM", true), ("%PDF-1.4", false),
            ("<svg xmlns='http://www.w3.org/2000/svg'/>", false), ("RIFFxxxxWAVE", false), ("PK\u{3}\u{4}", false),
        ] {
            #expect((ImageFormat(of: Array(text.utf8)) != nil) == isPicture, "\(text)")
            #expect(throws: CurlewError.self) { _ = try Image(decoding: Array(text.utf8)) }
        }
        // A picture, and after it what a browser would run: it is read as the picture that it begins like.
        let polyglot = try Fixture.bytes("plain.png") + Array("<script>alert(1)</script>".utf8)
        try Image(decoding: polyglot).expectQuarters()
    }

    @Test("a file that is cut off anywhere is an error, or has all its pixels")
    func truncated() throws {
        for name in [
            "plain.png", "plain.jpg", "plain.gif", "moving.gif", "lossless.webp", "plain.avif", "lzw.tif", "8.bmp",
            "bmp.ico", "moving.webp", "progressive.jpg", "cmyk.jpg", "png.ico", "moving.avif", "packbits.tif",
        ] {
            let bytes = try Fixture.bytes(name)
            let whole = try Image(decoding: bytes)
            for length in 0..<bytes.count {
                guard let image = try? Image(decoding: Array(bytes[..<length])) else { continue }
                // All pixels are there: what is missing is a checksum or a mark of the end.
                #expect(image.pixels == whole.pixels, "\(name) cut off after \(length) of \(bytes.count) bytes")
                #expect(image.frames.count == whole.frames.count, "\(name) cut off after \(length) bytes")
            }
        }
    }

    @Test(
        "the beginning of a file shows a picture of its size, or nothing", arguments: ["progressive.jpg", "lossy.webp"])
    func beginning(_ name: String) throws {
        let file = try Fixture.bytes(name)
        let whole = try Image(decoding: file)
        var count = 0
        for length in 0..<file.count {
            let shown = try? Image.beginning(of: Array(file[..<length]), options: Image.DecodingOptions())
            #expect(shown == nil || shown?.size == whole.size)
            if shown != nil { count += 1 }
        }
        #expect(count > 0)
        for other in ["plain.jpg", "plain.png", "moving.webp"] {
            #expect(try Image.beginning(of: Fixture.bytes(other), options: Image.DecodingOptions()) == nil)
        }
    }

    @Test("a file with a wrong byte anywhere is an error or a picture, and nothing else")
    func corrupt() throws {
        var options = Image.DecodingOptions()
        options.limits.pixels = 100_000
        options.limits.animationPixels = 400_000
        for name in try Fixture.names() where name != "make.py" {
            let bytes = try Fixture.bytes(name)
            // Each byte of the short ones, and some of the long ones, which are mostly pixels.
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

    @Test("a file that claims too much is refused before memory is taken for it")
    func bombs() throws {
        // 50,000 × 50,000 in the header of a PNG, with the checksum that it needs.
        var png = try Fixture.bytes("plain.png")
        png.replaceSubrange(16..<24, with: [0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50])
        png.replaceSubrange(29..<33, with: checksum(Array(png[12..<29])))
        var gif = try Fixture.bytes("plain.gif")
        gif.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
        var bmp = try Fixture.bytes("24.bmp")
        bmp.replaceSubrange(18..<26, with: [0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F])
        var line = bmp
        line.replaceSubrange(18..<26, with: [0, 0, 0x10, 0, 1, 0, 0, 0])
        var jpeg = try Fixture.bytes("plain.jpg")
        let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
        jpeg.replaceSubrange((frame + 5)..<(frame + 9), with: [0xFF, 0xDC, 0xFF, 0xDC])
        // A TIFF of 50,000 × 50,000, and one whose only strip is said to have 4 GB.
        let tiff = tiff([(256, 3, 1, 50_000), (257, 3, 1, 50_000), (262, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 1)])
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
        // libavif has a bound of its own, which it keeps to in words of its own.
        #expect(throws: CurlewError.self) { _ = try Image(decoding: avif) }
    }

    @Test(
        "a TIFF that lies about its strips, its samples or its pixels is broken, and takes no memory for what it lies about"
    )
    func lyingTIFF() throws {
        let honest = [
            (256, 3, 1, 4), (257, 3, 1, 4), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
            (277, 3, 1, 1),
            (278, 3, 1, 4), (279, 4, 1, 16),
        ]
        #expect(try Image(decoding: tiff(honest)).size == Image.Size(4, 4))
        let before = peakMemory()
        for (lie, tag, value) in [
            ("a strip of 4 GB", 279, 0xFFFF_FFFF), ("a strip beyond the end", 273, 0x7FFF_FFFF),
            ("65,535 samples a pixel", 277, 0xFFFF), ("64 bits a sample", 258, 64), ("no sample", 277, 0),
            ("a compression that there is not", 259, 0xFFF0), ("65,535 columns without pixels", 256, 0xFFFF),
        ] {
            let lying = honest.map { $0.0 == tag ? ($0.0, $0.1, $0.2, value) : $0 }
            let image = try? Image(decoding: tiff(lying))
            // A strip that ends early is read as far as it goes where the pixels do not need more.
            #expect(image == nil || image?.size == Image.Size(4, 4), "\(lie)")
        }
        #expect(peakMemory() - before < 64 << 20)
    }

    /// A TIFF of sixteen grey pixels, whatever its directory says: tag, type, count and value.
    private func tiff(_ entries: [(Int, Int, Int, Int)]) -> [UInt8] {
        var file: [UInt8] = [0x49, 0x49, 0x2A, 0, 24, 0, 0, 0] + [UInt8](repeating: 128, count: 16)
        file += number(entries.count, 2)
        for (tag, type, count, value) in entries {
            file += number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4)
        }
        return file + number(0, 4)
    }

    @Test("tables and tiles of a TIFF that share their bytes take no more memory and time than the file has bytes")
    func sharedTIFF() throws {
        // 2,000 unknown entries, each of which names the same 64 KB.
        let shared = (0..<2000).map { (40_000 + $0, 7, 65_536, 8) }
        let directory =
            number(shared.count, 2)
            + shared.flatMap { entry in
                number(entry.0, 2) + number(entry.1, 2) + number(entry.2, 4) + number(entry.3, 4)
            }
        let head: [UInt8] = [0x49, 0x49, 0x2A, 0] + number(8 + 65_536, 4)
        let tables = head + [UInt8](repeating: 1, count: 65_536) + directory + number(0, 4)
        let before = peakMemory()
        #expect(throws: CurlewError.self) { _ = try Image(decoding: tables) }
        #expect(peakMemory() - before < 32 << 20)
        // A hundred tiles of sixty-four million pixels, and a picture of a few.
        let offsets = (0..<100).flatMap { _ in number(8, 4) }
        let tiles: [(Int, Int, Int, Int)] = [
            (256, 4, 1, 1600), (257, 4, 1, 16), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (277, 3, 1, 1),
            (322, 4, 1, 16), (323, 4, 1, 4_000_000), (324, 4, 100, 8), (325, 4, 100, 8),
        ]
        var file: [UInt8] = [0x49, 0x49, 0x2A, 0] + number(8 + 400, 4) + offsets + number(tiles.count, 2)
        for (tag, type, count, value) in tiles {
            file += number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4)
        }
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: file + number(0, 4)) }
        #expect(error?.code == .responseTooLarge)
    }

    @Test("an AVIF of tiles is read, and only the part that its clean aperture shows")
    func grid() throws {
        let grid = try Image(decoding: Fixture.bytes("grid.avif"))
        #expect(grid.size == Image.Size(128, 128))
        let tile = try Image(size: Image.Size(64, 64), pixels: part(of: grid, x: 64, y: 64))
        tile.expectQuarters(tolerance: 20)
        let shown = try Image(decoding: Fixture.bytes("clap.avif"))
        #expect(shown.size == Image.Size(64, 64) && shown.pixels == tile.pixels)
        #expect(
            try Image(decoding: Fixture.bytes("clap.avif"), options: .init(fitting: Image.Size(32, 99))).size.width
                == 32)
    }

    private func part(of image: Image, x: Int, y: Int) -> [UInt8] {
        (y..<(y + 64)).flatMap { row in
            image.pixels[((row * image.size.width + x) * 4)..<((row * image.size.width + x + 64) * 4)]
        }
    }

    @Test("an AVIF whose AV1 images are larger than it says is refused, alone and as tiles, and one of too many tiles")
    func lyingAVIF() throws {
        var alone = try Fixture.bytes("plain.avif")
        let extent = try #require(alone.indices.first { alone[$0...].starts(with: Array("ispe".utf8)) })
        alone.replaceSubrange((extent + 8)..<(extent + 16), with: [0, 0, 0, 24, 0, 0, 0, 16])
        let tiles = try Fixture.bytes("bomb.avif")
        // It would be 512 × 512 of 64 tiles, which have a million pixels each.
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

    @Test("a BMP of one bit that is compressed by Huffman codes is not read as if it were not")
    func huffmanBMP() throws {
        var bmp = try Fixture.bytes("8.bmp")
        bmp[28] = 1
        bmp[30] = 3
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bmp) }
        #expect(error?.code == .decodingFailed)
    }

    @Test("a GIF of a million frames is refused once it has more than 2,000, in memory for no more")
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

    @Test("garbage in the place of a colour profile is noted, and changes no pixel", arguments: ["png", "jpeg"])
    func garbageProfile(_ format: String) throws {
        var file = try Fixture.bytes(format == "png" ? "plain.png" : "profile.jpg")
        if format == "png" {
            let chunk = Array("iCCPname\0\0garbage".utf8)
            file.insert(contentsOf: number(chunk.count - 4, 4).reversed() + chunk + checksum(chunk), at: 33)
        } else {
            let profile = try #require(file.indices.first { file[$0...].starts(with: Array("ICC_PROFILE\0".utf8)) })
            for place in (profile + 12)..<(profile + 300) { file[place] = 0x5A }
        }
        let image = try Image(decoding: file)
        image.expectQuarters()
        #expect(image.hasColorProfile)
    }

    @Test("texts of a PNG, however many and long, take no memory: they are not read")
    func textBomb() throws {
        let png = try Fixture.bytes("plain.png")
        // A hundred texts of seven million letters.
        let text = Array("zTXta\0\0".utf8) + letters(7_000_000)
        let length: [UInt8] = number(text.count - 4, 4).reversed()
        let written: [UInt8] = length + text + checksum(text)
        let bomb = Array(png[..<33]) + Array(repeatElement(written, count: 100).joined()) + Array(png[33...])
        let before = peakMemory()
        try Image(decoding: bomb).expectQuarters()
        #expect(peakMemory() - before < 300 << 20)
    }

    /// The most bytes that this process had.
    private func peakMemory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1024
    }

    /// So many letters a, or a few more, in the form of zlib (RFC 1950 and 1951): one, and copies of it, each of 258 letters.
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
        return bytes + number(sum, 4).reversed()
    }

    /// The checksum of a chunk (PNG, annex D), the larger byte first.
    private func checksum(_ bytes: [UInt8]) -> [UInt8] {
        var sum: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 {
                let isOdd = sum & 1 != 0
                sum >>= 1
                if isOdd { sum ^= 0xEDB8_8320 }
            }
        }
        return number(Int(~sum), 4).reversed()
    }

    @Test("an animation with more pictures or pixels than allowed is refused")
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

    @Test("an animation whose pictures are large counts as it is stored, too, however small it is kept")
    func largeAnimation() throws {
        var options = Image.DecodingOptions(fitting: Image.Size(10, 10))
        options.limits.animationPixels = 1_000_000
        // A thousand pixels each way, of which each picture paints one.
        let screen: [UInt8] = Array("GIF89a".utf8) + [0xE8, 3, 0xE8, 3, 0x80, 0, 0, 255, 255, 255, 0, 0, 0]
        let picture: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        for (count, isRead) in [(20, true), (40, false)] {
            let file = screen + Array(repeatElement(picture, count: count).joined()) + [0x3B]
            let frames = try? Image(decoding: file, options: options).frames.count
            #expect(frames == (isRead ? count : nil))
        }
    }

    @Test("times that add up to more than a codec counts are times still")
    func longTimes() throws {
        let file = try Fixture.bytes("moving.webp")
        // Of the first picture two hundred, each shown for as long as can be said: more than 2^31 ms together.
        let start = try #require(file.indices.first { file[$0...].starts(with: Array("ANMF".utf8)) })
        let length = file[(start + 4)..<(start + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
        var picture = Array(file[start..<(start + 8 + length + length % 2)])
        picture.replaceSubrange(20..<23, with: [0xFF, 0xFF, 0xFF])
        var long = Array(file[..<start]) + Array(repeatElement(picture, count: 200).joined())
        let size = long.count - 8
        long.replaceSubrange(4..<8, with: (0..<4).map { UInt8(truncatingIfNeeded: size >> ($0 * 8)) })
        let image = try Image(decoding: long)
        #expect(image.frames.count == 200)
        #expect(image.frames.first?.duration == .milliseconds(0xFFFFFF))
        #expect(image.frames.allSatisfy { $0.duration >= .zero })
    }

    @Test("a JPEG with odd bytes between its segments is read, and one whose pixels end early is not")
    func oddBytes() throws {
        let file = try Fixture.bytes("plain.jpg")
        let table = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xDB })
        var odd = file
        odd.insert(contentsOf: [1, 2, 3], at: table)
        try Image(decoding: odd).expectQuarters(tolerance: 20)
        try Image(decoding: Array(file.dropLast(2)) + [1, 2, 3, 0xFF, 0xD9]).expectQuarters(tolerance: 20)
        // The end is marked, and half of the pixels are not there.
        let scan = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xDA })
        let early = Array(file[..<((scan + file.count) / 2)]) + [0xFF, 0xD9]
        // The odd bytes' warning hides all others.
        var oddEarly = early
        oddEarly.insert(contentsOf: [1, 2, 3], at: table)
        for bytes in [early, Array(early.dropLast(2)), Array(odd.dropLast(2)), oddEarly] {
            let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bytes) }
            #expect(error?.code == .decodingFailed)
        }
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

    /// A number, the smaller byte first.
    private func number(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    @Test("greys of a TIFF are multiplied by their alpha, and its colour profile is noted")
    func grayAlpha() throws {
        // A pixel of 200 with an alpha of 128: width, height, bits, compression, colours, strip, samples, rows, bytes, alpha, profile.
        let entries = [
            (256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 2, 0x80008), (259, 3, 1, 1), (262, 3, 1, 1), (273, 3, 1, 146),
            (277, 3, 1, 2), (278, 3, 1, 1), (279, 3, 1, 2), (338, 3, 1, 2), (34675, 7, 4, 99),
        ]
        var file: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0] + number(entries.count, 2)
        for (tag, type, count, value) in entries {
            file += number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4)
        }
        file += number(0, 4)
        #expect(file.count == 146)
        let image = try Image(decoding: file + [200, 128])
        #expect(image.pixels == [100, 100, 100, 128])
        #expect(image.hasColorProfile)
        // Of sixteen bits, whose alpha libtiff drops.
        var deep = file + [0, 200, 0, 128]
        deep.replaceSubrange(42..<46, with: number(0x100010, 4))
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: deep) }
        #expect(error?.code == .decodingFailed && error?.message.contains("alpha") == true)
        // In planes of their own: libtiff has multiplied them already. Their offsets and counts stand at the end.
        for (isWhite, pixels) in [(false, [100, 100, 100, 128] as [UInt8]?), (true, nil)] {
            let planes = [
                (256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 2, 0x80008), (259, 3, 1, 1), (262, 3, 1, isWhite ? 0 : 1),
                (273, 4, 2, 26), (277, 3, 1, 2), (278, 3, 1, 1), (279, 4, 2, 34), (284, 3, 1, 2), (338, 3, 1, 2),
            ]
            var file: [UInt8] = [0x49, 0x49, 0x2A, 0] + number(42, 4) + [UInt8](repeating: 0, count: 16) + [200, 128]
            file += number(24, 4) + number(25, 4) + number(1, 4) + number(1, 4) + number(planes.count, 2)
            for (tag, type, count, value) in planes {
                file += number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4)
            }
            #expect((try? Image(decoding: file + number(0, 4)))?.pixels == pixels)
        }
    }

    @Test("an animated WebP that is turned fits as it is seen, and its colour profile is noted")
    func turnedAnimation() throws {
        var file = try Fixture.bytes("moving.webp")
        let exif = try Fixture.bytes("turned-6.webp").suffix(34)
        // The profile stands behind the header, EXIF at the end.
        let profile: [UInt8] = Array("ICCP".utf8) + number(4, 4) + [1, 2, 3, 4]
        file = Array(file[..<30]) + profile + Array(file[30...]) + Array(exif)
        file[20] |= 0x28
        file.replaceSubrange(4..<8, with: number(file.count - 8, 4))
        for (fitting, size) in [((32, 48), (32, 48)), ((16, 48), (16, 24))] {
            let options = Image.DecodingOptions(fitting: Image.Size(fitting.0, fitting.1))
            let image = try Image(decoding: file, options: options)
            #expect(image.size == Image.Size(size.0, size.1))
            #expect(image.frames.count == 3 && image.hasColorProfile)
        }
    }

    @Test("of equal pictures of an ICO the first is taken, and of others the larger one, or that of more colours")
    func equals() throws {
        func icon(_ pictures: [(side: Int, bits: Int, color: [UInt8])]) throws -> [UInt8] {
            var (directory, content) = (number(0, 2) + number(1, 2) + number(pictures.count, 2), [UInt8]())
            for (side, bits, color) in pictures {
                let pixels = [[UInt8]](repeating: color, count: side * side).flatMap { $0 }
                let png = try Image(size: Image.Size(side, side), pixels: pixels).encoded(as: .png)
                let place = 6 + pictures.count * 16 + content.count
                directory += [UInt8(side), UInt8(side), 0, 0] + number(1, 2) + number(bits, 2)
                directory += number(png.count, 4) + number(place, 4)
                content += png
            }
            return directory + content
        }
        let (red, blue): ([UInt8], [UInt8]) = ([255, 0, 0, 255], [0, 0, 255, 255])
        let colors = try [
            icon([(4, 32, red), (4, 32, blue)]), icon([(2, 32, blue), (4, 32, red)]),
            icon([(4, 8, blue), (4, 32, red)]),
        ].map { try Image(decoding: $0).color(0, 0) }
        #expect(colors == [red, red, red].map { $0.map { UInt8($0) } })
    }

    @Test("a picture of no pixels is broken")
    func nothing() throws {
        var gif = try Fixture.bytes("plain.gif")
        gif.replaceSubrange(6..<8, with: [0, 0])
        var png = try Fixture.bytes("plain.png")
        png.replaceSubrange(16..<20, with: [0, 0, 0, 0])
        png.replaceSubrange(29..<33, with: checksum(Array(png[12..<29])))
        var bmp = try Fixture.bytes("24.bmp")
        bmp.replaceSubrange(22..<26, with: [0, 0, 0, 0])
        let tiff = tiff([(256, 3, 1, 0), (257, 3, 1, 4), (262, 3, 1, 1), (273, 4, 1, 8), (279, 4, 1, 16)])
        for bytes in [gif, png, bmp, tiff] {
            let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: bytes) }
            #expect(error?.code == .decodingFailed)
        }
        #expect(throws: CurlewError.self) { _ = try Image(size: Image.Size(0, 1), pixels: []) }
        #expect(throws: CurlewError.self) { _ = try Image(size: Image.Size(1, 1), pixels: [1, 2, 3]) }
    }
}
#endif
