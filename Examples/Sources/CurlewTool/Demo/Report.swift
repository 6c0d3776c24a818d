import Curlew
import Glibc
import HTTPTypes

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
        let table = [heads] + rows.map(\.cells)
        let widths = heads.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        var text = "\n"
        for (index, cells) in table.enumerated() {
            text += zip(cells, widths).map { pad($0, $1) }.joined(separator: "  ") + "\n"
            if index == 0 { text += widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ") + "\n" }
        }
        Terminal.write(text, to: STDOUT_FILENO)
    }
}
