import Foundation

/// A test's own file, removed with this object.
final class TemporaryFile: Sendable {
    let path: String

    init(_ bytes: some Sequence<UInt8>) throws {
        path = Self.freePath("probe")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A path without a file.
    static func freePath(_ name: String) -> String { "/tmp/curlew-\(name)-\(UInt64.random(in: 0 ... .max))" }
}
