import Curlew
import CurlewImages
import Glibc

/// `bench-images make FOLDER COUNT` makes JPEGs of about a megabyte. `bench-images run BASE-URL COUNT FOLDER` downloads
/// them through an `ImageDownloader` and writes thumbnails of 200 pixels.
@main
struct Main {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count > 3, let count = Int(words[3]) else { fatalError("bench-images make|run …") }
        if words[1] == "make" { try make(in: words[2], count) } else { try await run(words[2], count, into: words[4]) }
    }

    /// Makes images of noise over a gradient, which are as hard to compress as photographs.
    private static func make(in folder: String, _ count: Int) throws {
        let (width, height) = (2400, 1600)
        var state: UInt64 = 88_172_645_463_325_252
        for number in 0..<count {
            var pixels = [UInt8](repeating: 255, count: width * height * 4)
            for y in 0..<height {
                for x in 0..<width {
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    let noise = Int(state & 31)
                    let place = (y * width + x) * 4
                    pixels[place] = UInt8(truncatingIfNeeded: x * 220 / width + noise)
                    pixels[place + 1] = UInt8(truncatingIfNeeded: y * 220 / height + noise)
                    pixels[place + 2] = UInt8(truncatingIfNeeded: (x + y + number) / 20 + noise)
                }
            }
            let bytes = try Image(size: Image.Size(width, height), pixels: pixels).encoded(as: .jpeg(quality: 86))
            write(bytes, to: "\(folder)/\(number).jpg")
        }
    }

    private static func run(_ base: String, _ count: Int, into folder: String) async throws {
        let session = try HTTPSession(baseURL: base)
        let downloader = ImageDownloader(
            session: session, cache: nil, options: Image.DecodingOptions(fitting: Image.Size(200, 200)))
        try await withThrowingTaskGroup { group in
            for number in 0..<count {
                group.addTask {
                    let image = try await downloader.load("\(number).jpg")
                    write(try image.encoded(as: .jpeg(quality: 75)), to: "\(folder)/\(number).jpg")
                }
            }
            try await group.waitForAll()
        }
        await session.shutdown()
    }

    private static func write(_ bytes: [UInt8], to path: String) {
        guard let file = fopen(path, "we"), fwrite(bytes, 1, bytes.count, file) == bytes.count, fclose(file) == 0 else {
            fatalError("\(path) cannot be written")
        }
    }
}
