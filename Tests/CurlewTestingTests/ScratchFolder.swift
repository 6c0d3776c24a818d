import Curlew
import Foundation

/// A folder that exists as long as its test.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        self.path = "/tmp/curlew-testing-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    func file(_ name: String) -> String { "\(self.path)/\(name)" }

    func write(_ name: String, _ text: String) throws { try Data(text.utf8).write(to: URL(filePath: self.file(name))) }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: self.file(name))), as: UTF8.self)
    }

    /// The names of the folder's contents.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []).sorted() }
}
