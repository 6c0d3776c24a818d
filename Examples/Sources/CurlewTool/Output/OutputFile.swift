import Curlew
import Glibc
import TerminalOutput

/// The destination of a body or a head: standard output, or a file that is made with its first byte.
final class OutputFile {
    /// The path; `-` is standard output.
    let path: String
    private var descriptor: Int32?

    init(_ path: String) {
        self.path = path
        descriptor = path == "-" ? STDOUT_FILENO : nil
    }

    /// Standard output.
    static var standard: OutputFile { OutputFile("-") }

    deinit { if let descriptor, path != "-" { close(descriptor) } }

    var isTerminal: Bool { descriptor.map(Terminal.isTerminal) ?? false }

    /// Makes the file, or empties it.
    func open() throws(OutputFailure) {
        guard descriptor == nil else { return }
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw failure(errno) }
        descriptor = file
    }

    func write(_ bytes: [UInt8]) throws(OutputFailure) {
        try open()
        guard let descriptor, let number = Terminal.writeAll(bytes, to: descriptor) else { return }
        if number == EPIPE { throw .closed }
        throw failure(number)
    }

    func write(_ text: String) throws(OutputFailure) { try write(Array(text.utf8)) }

    private func failure(_ number: Int32) -> OutputFailure {
        let name = path == "-" ? "standard output" : printable(path)
        let code: ErrorCode = number == ENOSPC || number == EDQUOT ? .diskFull : .fileFailed
        return .failed(CurlewError(code, "\(name) cannot be written: \(SystemText.error(number))"))
    }
}
