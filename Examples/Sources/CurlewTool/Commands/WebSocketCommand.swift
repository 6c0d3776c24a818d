import ArgumentParser
import Curlew
import CurlewWebSockets
import TerminalOutput

/// The command `curlew ws URL`: a WebSocket on the terminal.
struct WebSocketCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ws",
        abstract: "Open a WebSocket: each line of standard input is sent, each message is printed.",
        discussion:
            "The end of the input, and Ctrl-C, close it. The exit status is 0 if it was closed with 1000 or 1001.")

    @Argument(help: "The URL; its scheme is ws, wss, http or https, and http:// may be omitted.")
    var url: String

    @Option(name: .customLong("protocol"), help: "A subprotocol to offer; the option may be repeated.")
    var protocols: [String] = []

    @Flag(help: "Offer compression (RFC 7692).")
    var compress = false

    func run() async throws {
        let session = try HTTPSession(chain: .singleUser)
        let options = CurlewWebSocket.Options(compression: compress ? CurlewWebSocket.Compression() : nil)
        var failure: OutputFailure?
        let url = RequestLine.absolute(url)
        let ending = try await session.webSocket(.raw(url), protocols: protocols, options: options) { socket in
            Messages.note("open" + (socket.subprotocol.map { ", protocol \(printable($0))" } ?? ""))
            let interruption = await Interruption { try? await socket.close() }
            let sending = Task { try await Self.sendInput(through: socket) }
            defer { sending.cancel() }
            for try await message in socket.messages {
                do throws(OutputFailure) {
                    try Self.show(message)
                } catch {
                    // The socket would wrap an error that is thrown here.
                    failure = error
                    break
                }
            }
            await interruption.end()
            guard failure == nil else { return }
            let figures = await socket.figures
            Messages.note(
                "sent \(figures.sentMessages) messages with \(figures.sentBytes) bytes, received \(figures.receivedMessages) with "
                    + "\(figures.receivedBytes), and \(figures.receivedPings) pings")
        }
        if let failure { throw failure }
        let reason = ending.received.map { $0.reason.isEmpty ? "" : ": \(printable($0.reason))" } ?? ""
        Messages.note("closed with \(ending.code)\(reason)")
        guard ending.code == .normalClosure || ending.code == .goingAway else { throw ExitCode(1) }
    }

    /// Sends the lines of standard input, and closes the socket after the last one.
    private static func sendInput(through socket: CurlewWebSocket) async throws {
        do {
            for try await line in InputLines("-") { try await socket.send(.text(line)) }
        } catch let error as CurlewError where error.code == .bodyFailed {
            Messages.report(error)
        }
        if !Task.isCancelled { try await socket.close() }
    }

    private static func show(_ message: CurlewWebSocket.Message) throws(OutputFailure) {
        let output = OutputFile.standard
        switch message.content {
        case .text(let text) where output.isTerminal:
            var shown = TerminalText()
            try output.write(shown.text(text.utf8) + shown.finish() + [0x0A])
        // A piped message is printed unchanged, with its own lines and tabs.
        case .text(let text): try output.write("\(text)\n")
        case .binary(let bytes): try output.write("(\(bytes.count) bytes)\n")
        }
    }
}
