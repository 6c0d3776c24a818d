#if Images
import Curlew
import Testing

@testable import CurlewImages

@Suite("Decoding of images", .timeLimit(.minutes(2)))
struct DecodingTests {
    @Test(
        "an image in each format has the expected colours",
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

    @Test("a CMYK image is converted to RGB")
    func inks() throws { try Image(decoding: Fixture.bytes("cmyk.jpg")).expectQuarters(tolerance: 24) }

    @Test(
        "interlaced images of PngSuite, at every depth, have the colours of another decoder",
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

    @Test("images of PngSuite of all kinds are read, and a gamma of 1.0 makes them brighter")
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
            // A value of 135 without gAMA becomes 191 in sRGB with gAMA 1.0.
            if name == "basn0g08.png" { #expect(abs(Int(image.color(5, 20)[0]) - 191) <= 2) }
        }
    }

    @Test("the orientation of an image is applied", arguments: 1...8)
    func turned(_ number: Int) throws {
        for name in ["turned-\(number).jpg", "turned-\(number).avif"] {
            let image = try Image(decoding: Fixture.bytes(name))
            #expect(image.size == Image.Size(48, 32), "\(name)")
            image.expectQuarters(tolerance: 20, "\(name)")
        }
        // The reduction during decoding has the same result.
        let small = try Image(
            decoding: Fixture.bytes("turned-\(number).jpg"), options: .init(fitting: Image.Size(24, 24)))
        #expect(small.size == Image.Size(24, 16))
        small.expectQuarters()
    }

    @Test(
        "EXIF orientation applies in other formats too", arguments: ["turned-6.png", "turned-6.webp", "turned-6.tif"])
    func turnedOthers(_ name: String) throws {
        let image = try Image(decoding: Fixture.bytes(name))
        #expect(image.size == Image.Size(48, 32))
        image.expectQuarters()
    }

    @Test("an animation has its frames and their durations", arguments: ["moving.gif", "moving.webp", "moving.avif"])
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

    @Test("translucent colours are premultiplied by their alpha", arguments: ["half.png", "half.webp"])
    func alpha(_ name: String) throws {
        let color = try Image(decoding: Fixture.bytes(name)).color(3, 3)
        #expect(zip(color, [100, 50, 25, 128]).allSatisfy { abs(Int($0) - $1) <= 1 }, "\(color)")
    }

    @Test("an image is scaled down to fit during decoding, in every format, and is never enlarged")
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

    @Test("the bytes determine the format, whatever the name, and other bytes than an image's are refused")
    func sniffing() throws {
        for (text, isPicture) in [
            ("", false), ("<html><img></html>", false), ("GIF89", false), ("BM", true), ("%PDF-1.4", false),
            ("<svg xmlns='http://www.w3.org/2000/svg'/>", false), ("RIFFxxxxWAVE", false), ("PK\u{3}\u{4}", false),
        ] {
            #expect((ImageFormat(of: Array(text.utf8)) != nil) == isPicture, "\(text)")
            #expect(throws: CurlewError.self) { _ = try Image(decoding: Array(text.utf8)) }
        }
        // An image followed by a script that a browser would run is read as the image.
        let polyglot = try Fixture.bytes("plain.png") + Array("<script>alert(1)</script>".utf8)
        try Image(decoding: polyglot).expectQuarters()
    }

    @Test(
        "the beginning of a file gives an image of the full size, or nil",
        arguments: ["progressive.jpg", "lossy.webp"])
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

    @Test("an AVIF of tiles is read, and cropped to its clean aperture")
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

    @Test("grey values of a TIFF are premultiplied by their alpha, and its colour profile is reported")
    func grayAlpha() throws {
        // The TIFF has one pixel of 200 with an alpha of 128: width, height, bits, compression, colours, strip,
        // samples, rows, bytes, alpha, profile.
        let entries = [
            (256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 2, 0x80008), (259, 3, 1, 1), (262, 3, 1, 1), (273, 3, 1, 146),
            (277, 3, 1, 2), (278, 3, 1, 1), (279, 3, 1, 2), (338, 3, 1, 2), (34675, 7, 4, 99),
        ]
        var file: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0] + littleEndian(entries.count, 2)
        for (tag, type, count, value) in entries {
            file += littleEndian(tag, 2) + littleEndian(type, 2) + littleEndian(count, 4) + littleEndian(value, 4)
        }
        file += littleEndian(0, 4)
        #expect(file.count == 146)
        let image = try Image(decoding: file + [200, 128])
        #expect(image.pixels == [100, 100, 100, 128])
        #expect(image.hasColorProfile)
        // The second image has sixteen bits, whose alpha libtiff drops.
        var deep = file + [0, 200, 0, 128]
        deep.replaceSubrange(42..<46, with: littleEndian(0x100010, 4))
        let error = #expect(throws: CurlewError.self) { _ = try Image(decoding: deep) }
        #expect(error?.code == .decodingFailed && error?.message.contains("alpha") == true)
        // Separate planes are already premultiplied by libtiff. Their offsets and counts are at the end.
        for (isWhite, pixels) in [(false, [100, 100, 100, 128] as [UInt8]?), (true, nil)] {
            let planes = [
                (256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 2, 0x80008), (259, 3, 1, 1), (262, 3, 1, isWhite ? 0 : 1),
                (273, 4, 2, 26), (277, 3, 1, 2), (278, 3, 1, 1), (279, 4, 2, 34), (284, 3, 1, 2), (338, 3, 1, 2),
            ]
            var file: [UInt8] =
                [0x49, 0x49, 0x2A, 0] + littleEndian(42, 4) + [UInt8](repeating: 0, count: 16) + [200, 128]
            file +=
                littleEndian(24, 4) + littleEndian(25, 4) + littleEndian(1, 4) + littleEndian(1, 4)
                + littleEndian(planes.count, 2)
            for (tag, type, count, value) in planes {
                file += littleEndian(tag, 2) + littleEndian(type, 2) + littleEndian(count, 4) + littleEndian(value, 4)
            }
            #expect((try? Image(decoding: file + littleEndian(0, 4)))?.pixels == pixels)
        }
    }

    @Test("a rotated animated WebP is fitted in its displayed orientation, and its colour profile is reported")
    func turnedAnimation() throws {
        var file = try Fixture.bytes("moving.webp")
        let exif = try Fixture.bytes("turned-6.webp").suffix(34)
        // The profile follows the header, EXIF is at the end.
        let profile: [UInt8] = Array("ICCP".utf8) + littleEndian(4, 4) + [1, 2, 3, 4]
        file = Array(file[..<30]) + profile + Array(file[30...]) + Array(exif)
        file[20] |= 0x28
        file.replaceSubrange(4..<8, with: littleEndian(file.count - 8, 4))
        for (fitting, size) in [((32, 48), (32, 48)), ((16, 48), (16, 24))] {
            let options = Image.DecodingOptions(fitting: Image.Size(fitting.0, fitting.1))
            let image = try Image(decoding: file, options: options)
            #expect(image.size == Image.Size(size.0, size.1))
            #expect(image.frames.count == 3 && image.hasColorProfile)
        }
    }

    @Test("the largest image of an ICO is used, then the one with the most colours, then the first")
    func equals() throws {
        func icon(_ images: [(side: Int, bits: Int, color: [UInt8])]) throws -> [UInt8] {
            var (directory, content) = (
                littleEndian(0, 2) + littleEndian(1, 2) + littleEndian(images.count, 2), [UInt8]()
            )
            for (side, bits, color) in images {
                let pixels = [[UInt8]](repeating: color, count: side * side).flatMap { $0 }
                let png = try Image(size: Image.Size(side, side), pixels: pixels).encoded(as: .png)
                let place = 6 + images.count * 16 + content.count
                directory += [UInt8(side), UInt8(side), 0, 0] + littleEndian(1, 2) + littleEndian(bits, 2)
                directory += littleEndian(png.count, 4) + littleEndian(place, 4)
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
}
#endif
