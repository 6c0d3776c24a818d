import Curlew
import Dispatch
import Glibc

/// `curlew reach [HOST]`: whether the network, or a host, can be reached, now and after each change, until it is interrupted.
enum Reach {
    static func follow(_ host: String?) async throws {
        let monitor = try host.map { try ReachabilityMonitor(host: $0) } ?? ReachabilityMonitor()
        let following = Task {
            let line = StatusLine()
            for await status in monitor.updates { line.show(describe(status, await monitor.failure)) }
            line.end()
        }
        let interrupts = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { following.cancel() }
            source.activate()
            return source
        }
        await following.value
        for source in interrupts { source.cancel() }
    }

    private static func describe(_ status: ReachabilityStatus, _ failure: CurlewError?) -> String {
        guard let path = status.path else { return "\(status)" + (failure.map { " (\($0.message))" } ?? "") }
        var text = "\(status)"
        if !path.localAddresses.isEmpty { text += " from \(path.localAddresses.joined(separator: ", "))" }
        if !path.gateways.isEmpty { text += " by \(path.gateways.joined(separator: ", "))" }
        return text
    }
}

/// A line that takes the place of the one before on a terminal; elsewhere one line after the other.
private struct StatusLine {
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    func show(_ text: String) {
        // A line that is longer than the terminal is wide would leave a part of itself behind.
        let shown = isTerminal ? "\r\u{1B}[K\(text.prefix(width - 1))" : "\(text)\n"
        Terminal.write(shown, to: STDOUT_FILENO)
    }

    func end() { if isTerminal { Terminal.write("\n", to: STDOUT_FILENO) } }

    private var width: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 1 ? Int(size.ws_col) : 80
    }
}
