import Glibc

/// The lines of all transfers. On a terminal they are redrawn in place; elsewhere a line is written at the start, at
/// each tenth of the progress, and at the end.
package actor TransferBoard {
    private var lines: [TransferLine]
    private var meters: [RateMeter]
    private var tenths: [Int]
    private let isTerminal: Bool
    private let isColored: Bool
    private let descriptor: Int32
    private let clock = ContinuousClock()
    private var live: LiveLines
    private var lastDrawing: ContinuousClock.Instant?

    /// - Parameter descriptor: The descriptor of the output.
    package init(names: [String], descriptor: Int32 = STDERR_FILENO) {
        lines = names.map { TransferLine(name: printable($0)) }
        meters = names.map { _ in RateMeter() }
        tenths = names.map { _ in 0 }
        self.descriptor = descriptor
        isTerminal = Terminal.isTerminal(descriptor)
        isColored = Terminal.hasColors(descriptor)
        live = LiveLines(descriptor)
    }

    /// Changes the name of a transfer.
    package func rename(_ index: Int, to name: String) { lines[index].name = printable(name) }

    /// Updates the progress of a transfer.
    package func advance(_ index: Int, to count: Int64, of total: Int64?) {
        let begins = lines[index].state == .waiting
        let now = clock.now
        meters[index].note(count, at: now)
        lines[index].state = .running
        lines[index].count = count
        lines[index].total = total
        lines[index].rate = meters[index].bytesPerSecond
        if isTerminal { return drawOften(now) }
        let tenth = (lines[index].percent ?? 0) / 10
        // The last tenth is reported at the end.
        guard begins || tenth > tenths[index] && tenth < 10 else { return }
        tenths[index] = tenth
        say(index)
    }

    /// Reports the end of a transfer.
    package func end(_ index: Int, _ state: TransferLine.State) {
        lines[index].state = state
        if isTerminal { draw() } else { say(index) }
    }

    private func say(_ index: Int) {
        let percent = lines[index].percent.map { " \($0) %" } ?? ""
        Terminal.write("\(lines[index].name):\(percent) \(lines[index].figures)\n", to: descriptor)
    }

    /// Draws at most ten times a second, because many transfers report often.
    private func drawOften(_ now: ContinuousClock.Instant) {
        if let lastDrawing, lastDrawing + .milliseconds(100) > now { return }
        draw()
    }

    private func draw() {
        lastDrawing = clock.now
        live.draw(Self.texts(lines, width: live.width, limit: live.limit, isColored: isColored))
    }

    /// The lines for a terminal. If it has too few lines, those that wait and those that are done are counted.
    static func texts(_ lines: [TransferLine], width: Int, limit: Int, isColored: Bool) -> [String] {
        func text(_ line: TransferLine) -> String {
            let text = line.text(width: width)
            guard isColored, case .failed = line.state else { return text }
            return "\u{1B}[31m\(text)\u{1B}[0m"
        }
        guard lines.count > limit else { return lines.map(text) }
        let running = lines.filter { $0.state == .running }.prefix(limit - 1)
        let done = lines.count { $0.state == .done }
        let summary = "\(done) of \(lines.count) done, \(lines.count { $0.state == .waiting }) waiting"
        return running.map(text) + [Columns.prefix(of: summary, max(1, width - 1))]
    }
}
