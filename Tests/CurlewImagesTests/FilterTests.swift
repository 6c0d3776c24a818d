#if Images
import Curlew
import Testing

@testable import CurlewImages

@Suite("Filters and encoders of images")
struct FilterTests {
    private func quarters() throws -> Image { try Image(decoding: Fixture.bytes("plain.png")) }

    @Test("an image survives encoding and decoding unchanged", arguments: [Image.Encoding.png, .losslessWebP])
    func lossless(_ encoding: Image.Encoding) throws {
        let image = try quarters()
        #expect(try Image(decoding: image.encoded(as: encoding)).pixels == image.pixels)
        let half = try Image(decoding: Fixture.bytes("half.png"))
        let again = try Image(decoding: half.encoded(as: encoding))
        #expect(zip(again.pixels, half.pixels).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
    }

    @Test("an image is nearly unchanged after lossy encoding", arguments: [Image.Encoding.jpeg(), .webP()])
    func lossy(_ encoding: Image.Encoding) throws {
        let bytes = try quarters().encoded(as: encoding)
        #expect(ImageFormat(of: bytes)?.description == encoding.contentType.subtype)
        try Image(decoding: bytes).expectQuarters(tolerance: 24)
    }

    @Test("images are enlarged, reduced and cropped")
    func sizes() throws {
        let image = try quarters()
        let large = try ImageFilter.resized(to: Image.Size(100, 300)).apply(to: image)
        #expect(large.size == Image.Size(100, 300))
        large.expectQuarters()
        let fitted = try ImageFilter.resized(toFit: Image.Size(24, 24)).apply(to: image)
        #expect(fitted.size == Image.Size(24, 16))
        fitted.expectQuarters()
        let filled = try ImageFilter.resized(toFill: Image.Size(10, 10)).apply(to: image)
        #expect(filled.size == Image.Size(10, 10))
        filled.expectQuarters()
        let part = try ImageFilter.cropped(x: 24, y: 0, to: Image.Size(24, 16)).apply(to: image)
        #expect(part.size == Image.Size(24, 16) && part.color(0, 0) == image.color(30, 4))
        for filter in [
            ImageFilter.cropped(x: 40, y: 0, to: Image.Size(9, 1)), .cropped(x: -1, y: 0, to: Image.Size(1, 1)),
            .cropped(x: .max, y: 0, to: Image.Size(.max, .max)),
            .resized(to: Image.Size(0, 5)), .resized(to: Image.Size(100_000, 5)),
            .resized(toFill: Image.Size(.max, 1)), .resized(toFill: Image.Size(-1, 0)),
        ] {
            let error = #expect(throws: CurlewError.self) { _ = try filter.apply(to: image) }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test("an image of any proportions fills or fits a size, and impossible sizes are refused")
    func extremes() throws {
        for size in [Image.Size(5000, 1), Image.Size(1, 5000)] {
            let image = try Image(size: size, pixels: [UInt8](repeating: 255, count: 20_000))
            #expect(try ImageFilter.resized(toFill: Image.Size(64, 64)).apply(to: image).size == Image.Size(64, 64))
            let fitted = try ImageFilter.resized(toFit: Image.Size(64, 64)).apply(to: image).size
            #expect(min(fitted.width, fitted.height) == 1 && max(fitted.width, fitted.height) == 64)
            #expect(try ImageFilter.resized(toFit: Image.Size(-1, 0)).apply(to: image).size == Image.Size(1, 1))
        }
        for size in [
            Image.Size(.max, 2), Image.Size(2, .max), Image.Size(.max, .max), Image.Size(0, 0), Image.Size(-1, -1),
        ] {
            for count in [0, 4] {
                let error = #expect(throws: CurlewError.self) {
                    _ = try Image(size: size, pixels: [UInt8](repeating: 0, count: count))
                }
                #expect(error?.code == .invalidRequest)
            }
        }
    }

    @Test("an image that is reduced to one pixel has the mean colour")
    func mean() throws {
        let pixels: [UInt8] = [0, 0, 0, 255, 100, 200, 40, 255, 200, 0, 0, 255, 100, 0, 0, 255]
        let image = try Image(size: Image.Size(2, 2), pixels: pixels)
        #expect(try ImageFilter.resized(to: Image.Size(1, 1)).apply(to: image).pixels == [100, 50, 10, 255])
    }

    @Test("corners are rounded, a blur mixes neighbours, and filters are applied in order")
    func looks() throws {
        let image = try quarters()
        let round = try ImageFilter.rounded(radius: 8).apply(to: image)
        #expect(round.color(0, 0)[3] == 0 && round.color(47, 31)[3] == 0 && round.color(8, 8) == image.color(8, 8))
        let blurred = try ImageFilter.blurred(radius: 3).apply(to: image)
        let mixed = blurred.color(24, 4)
        #expect(mixed[0] > 80 && mixed[0] < 180 && mixed[1] > 60 && mixed[1] < 160)
        #expect(blurred.color(0, 0) == image.color(0, 0))
        let both = ImageFilter.resized(to: Image.Size(8, 8)).followed(by: .rounded(radius: 100))
        #expect(both.identifier == "resize-8x8+round-100")
        #expect(try both.apply(to: image).color(0, 0)[3] == 0)
    }

    @Test("an animation is filtered frame by frame")
    func animation() throws {
        let image = try Image(decoding: Fixture.bytes("moving.gif"))
        let small = try ImageFilter.resized(to: Image.Size(12, 8)).apply(to: image)
        #expect(small.frames.count == 3 && small.frames.map(\.duration) == image.frames.map(\.duration))
        #expect(small.frames.allSatisfy { $0.pixels.count == 12 * 8 * 4 })
        small.expectQuarters(tolerance: 24)
    }

    @Test("pixels are available in BGRA order")
    func order() throws {
        #expect(try Image(size: Image.Size(1, 1), pixels: [1, 2, 3, 4]).bgraPixels == [3, 2, 1, 4])
    }

    @Test("all pixels of a very long line contribute to its reduction")
    func longLine() throws {
        var pixels = [UInt8](repeating: 255, count: 40_000 * 4)
        for index in 36_000..<40_000 { pixels.replaceSubrange((index * 4)..<(index * 4 + 3), with: [0, 0, 0]) }
        let line = try Image(size: Image.Size(40_000, 1), pixels: pixels)
        let color = try ImageFilter.resized(to: Image.Size(1, 1)).apply(to: line).pixels
        // A tenth of the pixels is black.
        #expect(abs(Int(color[0]) - 229) <= 1 && color[3] == 255, "\(color)")
        #expect(try ImageFilter.resized(toFit: Image.Size(50_000, 50_000)).apply(to: line).size == line.size)
    }

    @Test("a small animation of many frames is not enlarged beyond the memory limit")
    func hugeAnimation() throws {
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
        let screen: [UInt8] = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 255, 255, 255, 0, 0, 0]
        let image = try Image(decoding: screen + Array(repeatElement(frame, count: 2000).joined()) + [0x3B])
        #expect(try ImageFilter.resized(to: Image.Size(2, 2)).apply(to: image).frames.count == 2000)
        let error = #expect(throws: CurlewError.self) {
            _ = try ImageFilter.resized(to: Image.Size(1000, 1000)).apply(to: image)
        }
        #expect(error?.code == .responseTooLarge)
    }

    @Test(
        "an image whose sides are too long for a format is an error with this reason",
        arguments: [Image.Encoding.jpeg(), .webP(), .losslessWebP, .png])
    func longSides(_ encoding: Image.Encoding) throws {
        let width = encoding == .png ? 1_000_001 : encoding == .jpeg() ? 65_501 : 16_384
        let image = try Image(size: Image.Size(width, 1), pixels: [UInt8](repeating: 255, count: width * 4))
        let error = #expect(throws: CurlewError.self) { _ = try image.encoded(as: encoding) }
        #expect(error?.code == .encodingFailed)
    }
}
#endif
