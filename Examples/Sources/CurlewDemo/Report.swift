import Curlew
import Glibc
import HTTPTypes
import TerminalOutput

/// The table at the end, with a row for each exchange.
enum Report {
    struct Row {
        var title: String
        var status = "–"
        var bytes: Int64 = 0
        var time: Duration
        var version = "–"
        var isReused = "–"

        init(title: String, task: TaskActor?, time: Duration) async {
            self.title = title
            self.time = time
            guard let task else { return }
            let progress = await task.currentProgress
            bytes = progress.sent.wire + progress.received.wire
            status = await task.status.map { "\($0.code)" } ?? "–"
            guard let attempt = await task.metrics.last else { return }
            version = attempt.version.map { "\($0)" } ?? "–"
            isReused = attempt.isReused ? "reused" : "new"
        }

        var milliseconds: Double { time / .milliseconds(1) }

        var cells: [String] {
            [
                title, status, Units.bytes(bytes), "\(Units.tenth(milliseconds)) ms",
                "\(Units.tenth(Double(bytes) / 1_048_576 / max(milliseconds / 1000, 0.000_001))) MiB/s", version,
                isReused,
            ]
        }
    }

    static func write(_ rows: [Row]) {
        let heads = ["exchange", "status", "bytes", "time", "throughput", "version", "connection"]
        let room = Terminal.width(of: STDOUT_FILENO).map { $0 - 1 }
        let table = fitted([heads] + rows.map(\.cells), room)
        let widths = self.widths(of: table)
        var text = "\n"
        for (index, cells) in table.enumerated() {
            text += zip(cells, widths).map { pad($0, $1) }.joined(separator: "  ") + "\n"
            if index == 0 { text += widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ") + "\n" }
        }
        Terminal.write(text, to: STDOUT_FILENO)
    }

    private static func widths(of table: [[String]]) -> [Int] {
        (table.first ?? []).indices.map { column in table.map { $0[column].count }.max() ?? 0 }
    }

    /// The table without the columns that do not fit: throughput, version, bytes, connection and status, in this order.
    private static func fitted(_ table: [[String]], _ room: Int?) -> [[String]] {
        guard let room else { return table }
        var table = table
        for name in ["throughput", "version", "bytes", "connection", "status"] {
            let widths = widths(of: table)
            guard widths.reduce(0, +) + 2 * (widths.count - 1) > room else { break }
            guard let column = table.first?.firstIndex(of: name) else { continue }
            for row in table.indices { table[row].remove(at: column) }
        }
        return table
    }
}
