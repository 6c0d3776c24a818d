import ArgumentParser
import Curlew
import CurlewImages
import Glibc
import TerminalOutput

/// `curlew image URL…`: downloads images, shows them in the terminal, and keeps them in another size or format.
struct ImageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "image",
        abstract: "Download images, four at a time, and show them in half blocks or write them into files.")

    @Argument(help: "The URLs of the images.")
    var urls: [String]

    @Option(help: "The size that they are made to fit into, as WIDTHxHEIGHT.", transform: ImageCommand.size)
    var resize: Image.Size?

    @Option(
        name: .shortAndLong,
        help: "A file for one image (.png, .jpg or .webp), or a folder for several (as PNG). Nothing is shown then.")
    var output: String?

    func validate() throws {
        guard !urls.isEmpty else { throw ValidationError("There is no URL of an image.") }
        if let output, urls.count == 1, Self.encoding(of: output) == nil {
            throw ValidationError("The file's name has to end in .png, .jpg or .webp.")
        }
    }

    static func size(_ text: String) throws -> Image.Size {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard sides.count == 2, sides.allSatisfy({ (1...16_384).contains($0) }) else {
            throw ValidationError("A size is WIDTHxHEIGHT, such as 200x100.")
        }
        return Image.Size(sides[0], sides[1])
    }

    static func encoding(of path: String) -> Image.Encoding? {
        switch path.split(separator: ".").last.map({ $0.lowercased() }) {
        case "png": .png
        case "jpg", "jpeg": .jpeg()
        case "webp": .webP()
        default: nil
        }
    }

    func run() async throws {
        let session = try HTTPSession()
        var options = Image.DecodingOptions(fitting: resize)
        options.decodesAnimation = false
        let downloader = ImageDownloader(session: session, options: options)
        let line = ActivityLine(urls.count == 1 ? "An image is loading." : "Images are loading.")
        await line.follow(session)
        var failure: CurlewError?
        // All images are requested at once: the downloader limits itself to four, and the output keeps the command's
        // order.
        let images = urls.map { url in Task { try await downloader.load(RequestLine.absolute(url)) } }
        for (index, image) in images.enumerated() {
            do {
                try await line.print(try finish(try await image.value, index))
            } catch let error as CurlewError {
                await line.report(error)
                failure = error
            }
        }
        await line.end()
        await session.shutdown()
        if let failure { throw ExitCode(ExitStatus.status(for: failure)) }
    }

    /// Writes an image to its file.
    /// - Returns: The preview and the description of the image.
    private func finish(_ image: Image, _ index: Int) throws -> String {
        guard let output else {
            let width = Terminal.width(of: STDOUT_FILENO)
            // A pipe gets no colours: they are the picture.
            let picture = try width.map { try HalfBlocks.text(image, columns: min(image.size.width, $0)) } ?? ""
            return picture
                + "\(printable(urls[index])): \(image.format?.description ?? "image"), \(image.size.width) × \(image.size.height)\n"
        }
        let path = urls.count == 1 ? output : "\(output)/\(index + 1).png"
        let bytes = try image.encoded(as: Self.encoding(of: path) ?? .png)
        guard let file = fopen(path, "wxe") else {
            let number = errno
            throw CurlewError(
                number == EEXIST ? .fileExists : .fileFailed,
                "\(printable(path)) cannot be made: \(SystemText.error(number))")
        }
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else {
            unlink(path)
            throw CurlewError(.fileFailed, "\(printable(path)) cannot be written")
        }
        return "\(printable(path)): \(image.size.width) × \(image.size.height), \(bytes.count) bytes\n"
    }
}
