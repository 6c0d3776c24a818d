import Foundation

/// A file of a test's own, removed with it.
final class TemporaryFile: Sendable {
    let path: String

    init(_ bytes: some Sequence<UInt8>) throws {
        path = Self.freePath("probe")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A path where nothing is yet.
    static func freePath(_ name: String) -> String { "/tmp/curlew-\(name)-\(UInt64.random(in: 0 ... .max))" }
}
