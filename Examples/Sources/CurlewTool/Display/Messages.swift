import Curlew
import Glibc
import TerminalOutput

/// Messages on standard error.
enum Messages {
    /// Writes an error, complete: in lines that fit the terminal, or in one line elsewhere.
    static func report(_ error: CurlewError, descriptor: Int32 = STDERR_FILENO) {
        report("\(error)", descriptor: descriptor)
    }

    /// Writes the text of an error.
    static func report(_ text: String, descriptor: Int32 = STDERR_FILENO) {
        let width = Terminal.isTerminal(descriptor) ? Terminal.width(of: descriptor) : nil
        Terminal.write(
            errorText(printable(text), width: width, isColored: Terminal.hasColors(descriptor)), to: descriptor)
    }

    /// The text of an error in lines of a width; nil is one line.
    static func errorText(_ text: String, width: Int?, isColored: Bool) -> String {
        let lines = width.map { Columns.wrapped("curlew: \(text)", max(20, $0) - 1) } ?? ["curlew: \(text)"]
        let body = lines.joined(separator: "\n")
        return isColored ? "\u{1B}[31m\(body)\u{1B}[0m\n" : "\(body)\n"
    }

    static func note(_ text: String, descriptor: Int32 = STDERR_FILENO) {
        Terminal.write("curlew: \(printable(text))\n", to: descriptor)
    }
}
