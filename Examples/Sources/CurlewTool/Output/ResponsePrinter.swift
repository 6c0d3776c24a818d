import Curlew
import Glibc
import HTTPTypes
import TerminalOutput

/// The printing of a response into its output.
final class ResponsePrinter {
    private let file: OutputFile
    private let words: OutputWords
    private let isTerminal: Bool
    private let isColored: Bool
    /// The bytes of the body so far.
    private(set) var size: Int64 = 0

    init(_ file: OutputFile, _ words: OutputWords) {
        self.file = file
        self.words = words
        // An explicit "-o -" is the wish for the bytes as they are.
        isTerminal = file.isTerminal && words.output == nil
        isColored =
            switch words.color {
            case .always: file.path == "-" && words.output == nil
            case .never: false
            case .auto: isTerminal && Terminal.hasColors(STDOUT_FILENO)
            }
    }

    func show(_ heads: ResponseHeads) throws {
        guard isTerminal else { return try file.write(heads.text) }
        var text = TerminalText()
        try file.write(text.text(heads.text.utf8) + text.finish())
    }

    // MARK: Body

    /// Writes the body as it comes.
    func showBody(of response: CurlewResponse) async throws {
        var printer = BodyPrinter(for: response.fields, isTerminal: isTerminal, isColored: isColored)
        let bar = progress(of: response)
        do {
            for try await chunk in response.body {
                if isTerminal, size == 0, BodyPrinter.isBinary(chunk, response.fields) { throw Self.binary }
                size += Int64(chunk.count)
                try file.write(printer.print(chunk))
                await bar?.advance(0, to: size, of: response.body.length)
            }
            try file.write(printer.finish())
        } catch {
            await bar?.end(0, .failed("failed"))
            throw error
        }
        await bar?.end(0, .done)
    }

    /// The bar of a file on a terminal; nil for other outputs.
    private func progress(of response: CurlewResponse) -> TransferBoard? {
        guard file.path != "-", !words.isSilent, Terminal.isTerminal(STDERR_FILENO) else { return nil }
        return TransferBoard(names: [FileNames.name(ofPath: file.path)])
    }

    private static var binary: OutputFailure {
        .failed(
            CurlewError(
                .fileFailed,
                "the body is binary; --output FILE saves it, --compressed decompresses it, --output - shows it all the same"
            ))
    }

    // MARK: Events

    /// Writes server-sent events, or the lines of any other body, as they come.
    func showEvents(of response: CurlewResponse) async throws {
        if response.mediaType?.essence == ContentType.eventStream.essence {
            for try await event in response.body.serverSentEvents {
                if event.type != "message", isTerminal { try show(type: event.type) }
                try show(line: event.data)
            }
        } else {
            for try await line in response.body.lines(upTo: .mebibytes(16)) where !line.isEmpty { try show(line: line) }
        }
    }

    private func show(type: String) throws {
        let text = printable(type)
        try file.write(isColored ? "\u{1B}[2m\(text)\u{1B}[0m\n" : "\(text)\n")
    }

    private func show(line: String) throws {
        size += Int64(line.utf8.count)
        // A line of a log may begin with a bracket, too.
        let isJSON = (line.hasPrefix("{") || line.hasPrefix("[")) && (try? JSONValue(parsing: Array(line.utf8))) != nil
        let fields: HTTPFields = isJSON ? [.contentType: "application/json"] : [:]
        var printer = BodyPrinter(for: fields, isTerminal: isTerminal, isColored: isColored)
        let text = printer.print(Array(line.utf8)) + printer.finish()
        try file.write(text.last == 0x0A ? text : text + [0x0A])
    }
}
