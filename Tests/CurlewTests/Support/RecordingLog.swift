import Logging

@testable import CurlewCore

/// A log handler that stores the lines.
struct RecordingLog: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata

        subscript(key: String) -> String? { metadata[key].map { "\($0)" } }
    }

    private struct Handler: LogHandler {
        let kept: Guarded<[Line]>
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level

        func log(event: LogEvent) {
            let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
            kept.withLock { $0.append(Line(level: event.level, message: "\(event.message)", metadata: metadata)) }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
    }

    private let kept = Guarded<[Line]>([])

    /// The lines so far.
    var lines: [Line] { kept.withLock { $0 } }

    /// The lines as one text, to search for forbidden contents.
    var text: String { lines.map { "\($0.message) \($0.metadata)" }.joined(separator: "\n") }

    func logger(_ level: Logger.Level) -> Logger {
        let kept = kept
        return Logger(label: "test") { _ in Handler(kept: kept, logLevel: level) }
    }
}
