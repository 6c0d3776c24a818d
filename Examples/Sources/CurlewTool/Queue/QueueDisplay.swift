import Curlew
import CurlewStorage
import Glibc
import TerminalOutput

/// The output of `queue run`: a table on a terminal, otherwise a line for each end.
struct QueueDisplay {
    private let session: DurableSession

    init(_ session: DurableSession) { self.session = session }

    func run() async throws {
        guard Terminal.width(of: STDERR_FILENO) != nil else {
            for try await event in session.events {
                guard case .ended(let transfer) = event else { continue }
                Terminal.write("\(QueueLine(transfer).text)\n", to: STDERR_FILENO)
            }
            return
        }
        var live = LiveLines(STDERR_FILENO)
        for try await figures in session.figures(every: .milliseconds(500)) {
            let running = try await session.transfers(in: [.running], limit: min(10, live.limit))
            var summary = Self.summary(figures.counts)
            if figures.bytesPerSecond > 0 { summary += ", \(Units.bytes(Int64(figures.bytesPerSecond)))/s" }
            let width = live.width
            let lines = running.map { Self.line($0).text(width: width) }
            live.draw(lines + [Columns.prefix(of: summary, max(1, width - 1))])
        }
    }

    private static func line(_ transfer: DurableTransfer) -> TransferLine {
        let request = transfer.request
        let name = request.source.map(FileNames.name(ofPath:)) ?? FileNames.name(ofURL: request.url) ?? "?"
        return TransferLine(name: printable(name), state: .running, count: transfer.transferred, total: transfer.total)
    }

    private static func summary(_ counts: [DurableTransfer.State: Int]) -> String {
        let parts = DurableTransfer.State.allCases.compactMap { state in counts[state].map { "\($0) \(state)" } }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }

    /// Prints the counts, and the reasons of the transfers that have failed.
    /// - Returns: The number of failed transfers.
    func end(wasInterrupted: Bool) async throws -> Int {
        let counts = try await session.counts()
        guard !wasInterrupted else { return counts[.failed] ?? 0 }
        Terminal.write("\(Self.summary(counts))\n", to: STDERR_FILENO)
        let failed = try await session.transfers(in: [.failed], limit: 20)
        for transfer in failed {
            let reason = transfer.lastError.map { "\($0.code): \($0.message)" } ?? "no reason is known"
            Messages.report("\(transfer.request.url): \(reason)")
        }
        let count = counts[.failed] ?? 0
        if count > failed.count { Messages.note("\(count - failed.count) more; 'curlew queue list' has them") }
        return count
    }
}
