import ArgumentParser
import Curlew
import Glibc

/// `curlew reach [HOST]`: prints the reachability of the network or of a host, now and after each change, until it is
/// interrupted.
struct Reach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell whether the network, or a host, can be reached, now and after each change.")

    @Argument(help: "The host; none is the network as a whole.")
    var host: String?

    func run() async throws {
        let monitor = try host.map { try ReachabilityMonitor(host: $0) } ?? ReachabilityMonitor()
        let (beginning, begin) = AsyncStream.makeStream(of: Void.self)
        let following = Task {
            for await _ in beginning { break }
            let line = StatusLine()
            for await status in monitor.updates { line.show(Self.describe(status, await monitor.failure)) }
            line.end()
        }
        let interruption = await Interruption { following.cancel() }
        // A reader of the first line may interrupt at once.
        begin.finish()
        await following.value
        await interruption.end()
    }

    private static func describe(_ status: ReachabilityStatus, _ failure: CurlewError?) -> String {
        guard let path = status.path else { return "\(status)" + (failure.map { " (\($0.message))" } ?? "") }
        var text = "\(status)"
        if !path.localAddresses.isEmpty { text += " from \(path.localAddresses.joined(separator: ", "))" }
        if !path.gateways.isEmpty { text += " by \(path.gateways.joined(separator: ", "))" }
        return text
    }
}

/// A line that replaces the previous one on a terminal; elsewhere the lines follow each other.
private struct StatusLine {
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    func show(_ text: String) {
        // The text is cut at the terminal's width, because the rest of a longer line would remain visible.
        let shown = isTerminal ? "\r\u{1B}[K\(text.prefix(width - 1))" : "\(text)\n"
        Terminal.write(shown, to: STDOUT_FILENO)
    }

    func end() { if isTerminal { Terminal.write("\n", to: STDOUT_FILENO) } }

    private var width: Int { max(2, Terminal.width(of: STDOUT_FILENO) ?? 80) }
}
