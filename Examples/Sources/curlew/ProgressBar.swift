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

    /// Leaves the bar where it is.
    func end() { if isTerminal { write("\n") } }

    private func line(_ counts: TaskProgress.Counts) -> String {
        guard let fraction = counts.fraction else { return "\(pad(title, 26)) \(Units.bytes(counts.wire))" }
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(pad(title, 26)) \(bar) \(Int(fraction * 100))%  \(Units.bytes(counts.wire))"
    }

    private func write(_ text: String) { Terminal.write(text, to: STDOUT_FILENO) }
}

/// Text straight to a descriptor: bars and tables appear in the order in which they were written.
enum Terminal {
    static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// Text in columns and figures for people.
enum Units {
    static func bytes(_ count: Int64) -> String {
        let value = Double(count)
        switch count {
        case ..<1024: return "\(count) B"
        case ..<(1 << 20): return "\(tenth(value / 1024)) KiB"
        case ..<(1 << 30): return "\(tenth(value / Double(1 << 20))) MiB"
        default: return "\(tenth(value / Double(1 << 30))) GiB"
        }
    }

    static func tenth(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

func pad(_ text: String, _ width: Int) -> String {
    text.count >= width ? text : text + String(repeating: " ", count: width - text.count)
}
