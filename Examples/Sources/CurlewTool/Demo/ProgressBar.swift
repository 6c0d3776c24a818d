import Curlew
import Glibc

/// A live bar on a terminal; elsewhere one plain line at the end.
final class ProgressBar: Sendable {
    private let title: String
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let width = 30

    init(title: String) { self.title = title }

    func show(_ progress: TaskProgress) {
        let counts = progress.received.wire >= progress.sent.wire ? progress.received : progress.sent
        if isTerminal {
            write("\r\u{1B}[K\(line(counts))")
        } else if progress.isFinished {
            write("\(title): \(Units.bytes(counts.wire))\n")
        }
    }

    /// Leaves the bar in its last state.
    func end() { if isTerminal { write("\n") } }

    private func line(_ counts: TaskProgress.Counts) -> String {
        guard let fraction = counts.fraction else { return "\(pad(title, 26)) \(Units.bytes(counts.wire))" }
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(pad(title, 26)) \(bar) \(Int(fraction * 100))%  \(Units.bytes(counts.wire))"
    }

    private func write(_ text: String) { Terminal.write(text, to: STDOUT_FILENO) }
}
