/// A transfer as a line: name, bar, progress, rate and remaining time.
package struct TransferLine {
    /// The state of a transfer.
    package enum State: Equatable {
        case waiting
        case running
        case done
        case failed(String)
    }

    private static let nameWidth = 28
    private static let shortNameWidth = 12
    private static let shortestNameWidth = 4
    private static let barWidth = 24
    private static let shortestBarWidth = 6

    /// The displayed name.
    package var name: String
    package var state: State
    /// The received bytes, those of an earlier run included.
    package var count: Int64
    /// The expected number of bytes, if known.
    package var total: Int64?
    package var rate: Double?

    package init(
        name: String, state: State = .waiting, count: Int64 = 0, total: Int64? = nil, rate: Double? = nil
    ) {
        self.name = name
        self.state = state
        self.count = count
        self.total = total
        self.rate = rate
    }

    /// The progress in percent, if known.
    var percent: Int? {
        guard let total, total > 0 else { return nil }
        return min(100, Int(Double(count) / Double(total) * 100))
    }

    /// The line for a terminal, one column narrower than it, so that the terminal does not wrap.
    ///
    /// In a narrow terminal the name is shortened first, then the bar, which disappears before the figures. The
    /// figures that are missed least go next: the time left, the total, the rate.
    package func text(width: Int) -> String {
        let room = max(1, width - 1)
        let parts = figureParts
        for count in stride(from: parts.count, through: 1, by: -1) {
            let figures = parts.prefix(count).joined(separator: "  ")
            guard let line = line(figures, room) else { continue }
            return line
        }
        let short = [percent.map { "\($0) %" }, parts.first].compactMap { $0 }.joined(separator: " ")
        return Columns.prefix(of: Columns.width(of: short) <= room ? short : parts.first ?? "", room)
    }

    /// The line with these figures; nil if even the shortest name does not fit beside them.
    private func line(_ figures: String, _ room: Int) -> String? {
        let percentText = percent.flatMap { state == .running || state == .done ? "\($0) %" : nil }
        // The columns of name and bar.
        let rest = room - Columns.width(of: figures) - 1 - (percentText.map { $0.count + 1 } ?? 0)
        guard rest >= Self.shortestNameWidth else { return nil }
        var nameWidth = min(Self.nameWidth, rest)
        var bar: String?
        if percentText != nil {
            let barRoom = rest - 1 - Self.shortNameWidth
            if barRoom >= Self.shortestBarWidth {
                let barWidth = min(Self.barWidth, barRoom)
                nameWidth = min(Self.nameWidth, rest - 1 - barWidth)
                bar = self.bar(width: barWidth)
            }
        }
        return [Columns.fitted(name, nameWidth), bar, percentText, figures].compactMap { $0 }.joined(separator: " ")
    }

    private func bar(width: Int) -> String {
        let filled = (percent ?? 0) * width / 100
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    /// The text after the bar. Without a terminal there is no bar.
    var figures: String {
        switch state {
        case .waiting: return "waiting"
        case .failed(let reason): return reason
        case .running, .done: break
        }
        var parts = [total.map { "\(Units.bytes(count)) of \(Units.bytes($0))" } ?? Units.bytes(count)]
        if let rateText { parts.append(rateText) }
        if let timeText { parts.append("\(timeText) left") }
        return parts.joined(separator: "  ")
    }

    /// The figures for a terminal, the most important first.
    private var figureParts: [String] {
        switch state {
        case .waiting: return ["waiting"]
        case .failed(let reason): return [reason]
        case .running, .done: break
        }
        var parts = [Units.bytes(count)]
        if let rateText { parts.append(rateText) }
        if let total, state == .running { parts.append("of \(Units.bytes(total))") }
        if let timeText { parts.append("\(timeText) left") }
        return parts
    }

    private var rateText: String? { rate.map { "\(Units.bytes(Int64(min($0, 1e18))))/s" } }

    private var timeText: String? {
        guard state == .running, let total, let rate, rate > 0, total >= count else { return nil }
        return Units.clock(seconds: Double(total - count) / rate)
    }
}
