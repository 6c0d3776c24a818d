import Curlew
import CurlewImages
import Glibc
import TerminalOutput

/// A line on a terminal that shows a running activity. The line appears if the activity takes a while, and disappears
/// with it; elsewhere there is no line.
actor ActivityLine {
    private let text: String
    private let isTerminal: Bool
    private var isShown = false
    private var following: Task<Void, Never>?

    /// - Parameter text: The text of the line, on standard error.
    init(_ text: String) {
        self.text = text
        isTerminal = Terminal.isTerminal(STDERR_FILENO)
    }

    /// Shows the line while a session is busy.
    func follow(_ session: HTTPSession) async {
        guard isTerminal else { return }
        let monitor = ActivityMonitor()
        await monitor.follow(session)
        let updates = await monitor.updates
        following = Task {
            // The monitor lives as long as it has listeners.
            for await isActive in updates { self.show(isActive) }
            withExtendedLifetime(monitor) {}
        }
    }

    private func show(_ isShown: Bool) {
        guard isShown != self.isShown, following?.isCancelled == false else { return }
        self.isShown = isShown
        draw()
    }

    private func draw() { Terminal.write(isShown ? "\r\u{1B}[K\(text)" : "\r\u{1B}[K", to: STDERR_FILENO) }

    /// Writes to standard output, above the line.
    func print(_ output: String) throws(OutputFailure) {
        erase()
        try OutputFile.standard.write(output)
        if isShown { draw() }
    }

    /// Reports an error, above the line.
    func report(_ error: CurlewError) {
        erase()
        Messages.report(error)
        if isShown { draw() }
    }

    private func erase() { if isShown { Terminal.write("\r\u{1B}[K", to: STDERR_FILENO) } }

    /// Removes the line.
    func end() {
        show(false)
        following?.cancel()
    }
}
