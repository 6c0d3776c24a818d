import ArgumentParser
import Curlew
import CurlewWebSockets
import Glibc

/// The command `curlew ws URL`: a WebSocket on the terminal.
struct WebSocketCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ws",
        abstract: "Open a WebSocket: each line of standard input is sent, each message is printed.",
        discussion:
            "The end of the input, and Ctrl-C, close it. The exit status is 0 if it was closed with 1000 or 1001.")

    @Argument(help: "The URL, with the scheme ws, wss, http or https.")
    var url: String

    @Option(name: .customLong("protocol"), help: "A subprotocol to offer; the option may be repeated.")
    var protocols: [String] = []

    @Flag(help: "Offer compression (RFC 7692).")
    var compress = false

    func run() async throws {
        let session = try HTTPSession(chain: .singleUser)
        let options = CurlewWebSocket.Options(compression: compress ? CurlewWebSocket.Compression() : nil)
        let lines = Self.lines()
        let ending = try await session.webSocket(.raw(url), protocols: protocols, options: options) { socket in
            Self.note("open" + (socket.subprotocol.map { ", protocol \(printable($0))" } ?? ""))
            let interruption = await Interruption { try? await socket.close() }
            let sending = Task {
                for await line in lines { try await socket.send(.text(line)) }
                if !Task.isCancelled { try await socket.close() }
            }
            defer { sending.cancel() }
            for try await message in socket.messages { Self.show(message) }
            await interruption.end()
            let figures = await socket.figures
            Self.note(
                "sent \(figures.sentMessages) messages with \(figures.sentBytes) bytes, received \(figures.receivedMessages) with "
                    + "\(figures.receivedBytes), and \(figures.receivedPings) pings")
        }
        let reason = ending.received.map { $0.reason.isEmpty ? "" : ": \(printable($0.reason))" } ?? ""
        Self.note("closed with \(ending.code)\(reason)")
        guard ending.code == .normalClosure || ending.code == .goingAway else { throw ExitCode(1) }
    }

    private static func show(_ message: CurlewWebSocket.Message) {
        switch message.content {
        // A piped message is printed unchanged, with its own lines and tabs.
        case .text(let text):
            Terminal.write(isatty(STDOUT_FILENO) == 1 ? printable(text) + "\n" : text + "\n", to: STDOUT_FILENO)
        case .binary(let bytes): Terminal.write("(\(bytes.count) bytes)\n", to: STDOUT_FILENO)
        }
    }

    private static func note(_ text: String) { Terminal.write("curlew: \(text)\n", to: STDERR_FILENO) }

    /// The lines of standard input, which are read in a separate thread.
    private static func lines() -> AsyncStream<String> {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let thread = pthread_t.start {
            while let text = readLine() { line.yield(text) }
            line.finish()
        }
        if !thread { line.finish() }
        return lines
    }
}

extension pthread_t {
    /// Runs a closure in a thread.
    /// - Returns: False if the thread cannot be created.
    fileprivate static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        final class Work {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard status == 0 else {
            work.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
