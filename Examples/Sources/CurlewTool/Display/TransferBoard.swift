import Glibc

/// The lines of all transfers. On a terminal they are redrawn in place; elsewhere a line is written at the start, at
/// each tenth of the progress, and at the end.
actor TransferBoard {
    private var lines: [TransferLine]
    private var meters: [RateMeter]
    private var tenths: [Int]
    private let isTerminal: Bool
    private let descriptor: Int32
    private let clock = ContinuousClock()
    private var drawn = 0
    private var lastDrawing: ContinuousClock.Instant?

    /// - Parameter descriptor: The descriptor of the output.
    init(names: [String], descriptor: Int32 = STDERR_FILENO) {
        lines = names.map { TransferLine(name: printable($0)) }
        meters = names.map { _ in RateMeter() }
        tenths = names.map { _ in 0 }
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Changes the name of a transfer.
    func rename(_ index: Int, to name: String) { lines[index].name = printable(name) }

    /// Updates the progress of a transfer.
    func advance(_ index: Int, to count: Int64, of total: Int64?) {
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
    func end(_ index: Int, _ state: TransferLine.State) {
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
        let width = Terminal.width(of: descriptor) ?? 80
        var text = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        for line in lines { text += "\r\u{1B}[K\(line.text(width: width))\n" }
        drawn = lines.count
        Terminal.write(text, to: descriptor)
    }
}
