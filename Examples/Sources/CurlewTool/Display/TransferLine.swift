/// A transfer as a line: name, bar, progress, rate and remaining time.
struct TransferLine {
    /// The state of a transfer.
    enum State: Equatable {
        case waiting
        case running
        case done
        case failed(String)
    }

    private static let barWidth = 24

    /// The displayed name.
    var name: String
    var state = State.waiting
    /// The received bytes, those of an earlier run included.
    var count: Int64 = 0
    /// The expected number of bytes, if known.
    var total: Int64?
    var rate: Double?

    /// The progress in percent, if known.
    var percent: Int? {
        guard let total, total > 0 else { return nil }
        return min(100, Int(Double(count) / Double(total) * 100))
    }

    /// The line for a terminal, truncated to its width.
    func text(width: Int) -> String {
        var parts = [pad(String(name.prefix(28)), 28)]
        if let percent, state == .running || state == .done {
            let filled = percent * Self.barWidth / 100
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
            parts.append("\(bar) \(percent) %")
        }
        parts.append(figures)
        return String(parts.joined(separator: " ").prefix(max(20, width)))
    }

    /// The text after the bar. Without a terminal there is no bar.
    var figures: String {
        switch state {
        case .waiting: return "waiting"
        case .failed(let reason): return reason
        case .running, .done: break
        }
        var parts = [total.map { "\(Units.bytes(count)) of \(Units.bytes($0))" } ?? Units.bytes(count)]
        if let rate { parts.append("\(Units.bytes(Int64(min(rate, 1e18))))/s") }
        if state == .running, let total, let rate, rate > 0, total >= count {
            parts.append("\(Units.clock(seconds: Double(total - count) / rate)) left")
        }
        return parts.joined(separator: "  ")
    }
}
