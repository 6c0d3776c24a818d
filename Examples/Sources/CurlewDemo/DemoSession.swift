import Curlew
import Glibc
import HTTPTypes
import TerminalOutput

/// The end of the demonstration: four lines of a program, each with its result.
struct DemoSession {
    struct Bird: Codable, Sendable {
        var name: String
        var legs: Int
    }

    let session: HTTPSession

    func run() async throws {
        show(
            title: "The same session, as a program uses it. Each line is Swift, and what follows it is its result.")
        try await typedCall()
        try await stream()
        try await download()
        try await retry()
    }

    private func typedCall() async throws {
        show(code: #"let bird = try await api.get("birds/curlew", as: Bird.self)"#)
        let bird = try await session.get("birds/curlew", as: Bird.self)
        show(result: "a value: \(bird.name) with \(bird.legs) legs")
    }

    private func stream() async throws {
        show(code: #"for try await event in api.events("songs") { print(event.data) }"#)
        let policy = ServerSentEvent.ReconnectionPolicy(reconnectsAfterEnd: false)
        for try await event in session.events("songs", reconnection: policy) {
            show(result: "\(event.data), as soon as the server sends it")
        }
    }

    private func download() async throws {
        show(code: #"let file = try await api.download("download", to: .folder(downloads))"#)
        var template = Array("/tmp/curlew-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CurlewError(.fileFailed, "there is no room in /tmp") }
        let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer { rmdir(folder) }
        let task = try session.downloadTask("download", to: .folder(folder))
        let board = TransferBoard(names: ["download"], descriptor: STDOUT_FILENO)
        task.resume()
        for await progress in task.progress where !progress.isFinished {
            await board.advance(0, to: progress.received.wire, of: progress.received.total)
        }
        let file = try await task.file()
        await board.advance(0, to: file.size, of: file.size)
        await board.end(0, .done)
        show(result: "a file of \(Units.bytes(file.size)); if it had broken off, the next call would go on")
        unlink(file.path)
    }

    private func retry() async throws {
        show(code: #"let response = try await api.get("unsteady")"#)
        let response = try await session.get("unsteady")
        let bird = try await response.json(as: Bird.self)
        show(
            result: "status \(response.status.code) with a \(bird.name), after \(response.attempts) attempts: "
                + "the server failed first, with 503")
    }

    private func show(title: String) {
        write("\n" + Columns.wrapped(title, max(20, width - 1)).map { "\($0)\n" }.joined())
    }

    private func show(code: String) {
        write(Terminal.hasColors(STDOUT_FILENO) ? "\n  \u{1B}[1m\(code)\u{1B}[0m\n" : "\n  \(code)\n")
    }

    private func show(result: String) {
        for (index, line) in Columns.wrapped(result, max(20, width - 5)).enumerated() {
            write("\(index == 0 ? "  → " : "    ")\(line)\n")
        }
    }

    private var width: Int { Terminal.width(of: STDOUT_FILENO) ?? 120 }

    private func write(_ text: String) { Terminal.write(text, to: STDOUT_FILENO) }
}
