import ArgumentParser
import Curlew
import Glibc
import TerminalOutput

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
            for await status in monitor.updates { try line.show(Self.describe(status, await monitor.failure)) }
            try line.end()
        }
        let interruption = await Interruption { following.cancel() }
        // A reader of the first line may interrupt at once.
        begin.finish()
        try await following.value
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
    private let output = OutputFile.standard
    private var isTerminal: Bool { output.isTerminal }

    func show(_ text: String) throws(OutputFailure) {
        // The text is cut at the terminal's width, because the rest of a longer line would remain visible.
        try output.write(isTerminal ? "\r\u{1B}[K\(Columns.prefix(of: text, width - 1))" : "\(text)\n")
    }

    func end() throws(OutputFailure) { if isTerminal { try output.write("\n") } }

    private var width: Int { max(2, Terminal.width(of: STDOUT_FILENO) ?? 80) }
}
