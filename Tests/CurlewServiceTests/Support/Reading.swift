#if Service
import Configuration
import Curlew
import CurlewService
import FoundationEssentials
import Testing

/// The scope of a client's keys in these tests.
let scope: ConfigKey = "http.client"

/// A reader of values in memory, scoped to the keys of a client.
func reader(_ values: [String: ConfigContent], reporter: (any AccessReporter)? = nil) -> ConfigReader {
    let pairs = values.map {
        (AbsoluteConfigKey(scope.components + $0.key.split(separator: ".").map(String.init)), $0.value)
    }
    let provider = InMemoryProvider(
        values: Dictionary(uniqueKeysWithValues: pairs.map { ($0, ConfigValue($1, isSecret: false)) }))
    return ConfigReader(provider: provider, accessReporter: reporter).scoped(to: scope)
}

/// Settings read from values in memory.
func settings(_ values: [String: ConfigContent]) async throws -> HTTPSession.Settings {
    try await HTTPSession.Settings(reader: reader(values))
}

/// The error of reading values in memory; nil and an issue if there is none.
func failure(_ values: [String: ConfigContent], sourceLocation: SourceLocation = #_sourceLocation) async -> CurlewError?
{
    await #expect(throws: CurlewError.self, sourceLocation: sourceLocation) { _ = try await settings(values) }
}

/// A folder for one test, removed with its contents.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/curlew-service-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file.
    /// - Returns: Its path.
    func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }
}
#endif
