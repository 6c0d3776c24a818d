import Curlew
import Glibc
import TerminalOutput

/// A live bar on a terminal; elsewhere one plain line at the end.
final class ProgressBar: Sendable {
    private let title: String
    private let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
    private static let barWidth = 30
    private static let titleWidth = 26

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
        let room = max(20, Terminal.width(of: STDOUT_FILENO) ?? 80) - 1
        let titleWidth = min(Self.titleWidth, room - 16)
        let title = Columns.fitted(title, titleWidth)
        guard let fraction = counts.fraction else { return "\(title) \(Units.bytes(counts.wire))" }
        // The percentage and the bytes take 16 columns at most.
        let width = min(Self.barWidth, room - titleWidth - 18)
        let figures = "\(Int(fraction * 100))%  \(Units.bytes(counts.wire))"
        guard width >= 6 else { return "\(title) \(figures)" }
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(title) \(bar) \(figures)"
    }

    private func write(_ text: String) { Terminal.write(text, to: STDOUT_FILENO) }
}
