#if Service
internal import Configuration
internal import Curlew

/// A reader of a table's keys, which reports the key of an invalid value.
struct ConfigurationLookup {
    private let reader: ConfigReader

    init(_ reader: ConfigReader) { self.reader = reader }

    /// The default settings, changed by the reader's values for the keys of a table.
    func settings(from table: [SettingsEntry], defaults: HTTPSession.Settings) async throws -> HTTPSession.Settings {
        var draft = SettingsDraft(defaults)
        for entry in table {
            guard let text = try await text(of: entry) else { continue }
            guard entry.apply(text, &draft) else { throw unexpected(text, entry) }
            draft.found.insert(entry.key.name)
        }
        do {
            return try draft.finished()
        } catch let problem as SettingsProblem {
            let names = problem.keys.map(fullName).joined(separator: " and ")
            throw CurlewError(problem.code, "\(names): \(problem.message)", underlying: problem.cause)
        }
    }

    /// The text of a key's value; nil if no provider has a value.
    ///
    /// Providers convert strictly, and differ in their types: in a file, `30` and `"30s"` have different types. So
    /// several types are tried in turn. Only fetching can distinguish a value of another type from a missing value.
    private func text(of entry: SettingsEntry) async throws -> ConfigurationText? {
        let key = entry.key.configKey
        let isSecret = entry.key.isSecret
        if entry.readsList {
            return try await first(
                entry,
                { try await reader.fetchStringArray(forKey: key, isSecret: isSecret).map { .several($0) } },
                { try await reader.fetchString(forKey: key, isSecret: isSecret).map { .one($0) } },
                {
                    try await reader.fetchIntArray(forKey: key, isSecret: isSecret).map {
                        .several($0.map(String.init))
                    }
                },
                { try await reader.fetchInt(forKey: key, isSecret: isSecret).map { .one(String($0)) } })
        }
        return try await first(
            entry,
            { try await reader.fetchString(forKey: key, isSecret: isSecret).map { .one($0) } },
            { try await reader.fetchInt(forKey: key, isSecret: isSecret).map { .one(String($0)) } },
            { try await reader.fetchDouble(forKey: key, isSecret: isSecret).map { .one(String($0)) } },
            { try await reader.fetchBool(forKey: key, isSecret: isSecret).map { .one(String($0)) } })
    }

    /// The first result of several readings that does not fail.
    private func first(
        _ entry: SettingsEntry, _ readings: (() async throws -> ConfigurationText?)...
    ) async throws -> ConfigurationText? {
        var failure: (any Error)?
        for reading in readings {
            do {
                if let text = try await reading() { return text }
                // After a failure a nil result is not conclusive: another reading found a value, or the provider
                // failed.
                if failure == nil { return nil }
            } catch let error as CancellationError {
                throw CurlewError(
                    .cancelled, "the task was cancelled while the configuration was read", underlying: error)
            } catch {
                failure = failure ?? error
            }
        }
        let name = fullName(of: entry.key.name)
        let message = "\(name): expected \(entry.expectation); found another type, or the provider has failed"
        // A provider's error for a secret may contain the secret.
        throw CurlewError(.invalidRequest, message, underlying: entry.key.isSecret ? nil : failure)
    }

    private func unexpected(_ text: ConfigurationText, _ entry: SettingsEntry) -> CurlewError {
        let name = fullName(of: entry.key.name)
        return CurlewError(.invalidRequest, "\(name): expected \(entry.expectation); \(Self.finding(text, entry))")
    }

    private static func finding(_ text: ConfigurationText, _ entry: SettingsEntry) -> String {
        if text.shown.isEmpty { return "found nothing" }
        if entry.key.isSecret { return "what was found is secret" }
        // A URL with an @ may contain a password.
        if text.shown.utf8.contains(UInt8(ascii: "@")) { return "what was found has an @, and is not shown" }
        let shown = text.shown.prefix(100)
        return "found \"\(shown)\(shown.endIndex < text.shown.endIndex ? "…" : "")\""
    }

    /// The key, preceded by the scope of the reader.
    ///
    /// A reader does not expose its scope, but its error for a missing value contains the absolute key. If that ever
    /// changes, this function returns the key without the scope.
    private func fullName(of key: String) -> String {
        let probe = "curlew-scope"
        do {
            _ = try reader.requiredString(forKey: ConfigKey([probe]))
        } catch {
            let whole = Mirror(reflecting: error).children.lazy.compactMap { $0.value as? AbsoluteConfigKey }.first
            if let whole, whole.components.last == probe {
                return (whole.components.dropLast() + [key]).joined(separator: ".")
            }
        }
        return key
    }
}

/// An error in the combination of several values, or in a file that a value names.
struct SettingsProblem: Error {
    var keys: [String]
    var code: ErrorCode
    /// The message, without secrets.
    var message: String
    var cause: (any Error)?

    init(_ keys: String..., code: ErrorCode = .invalidRequest, message: String) {
        self.keys = keys
        self.code = code
        self.message = message
    }

    init(_ keys: String..., cause: CurlewError) {
        self.keys = keys
        code = cause.code
        message = cause.message
        self.cause = cause.underlying
    }
}
#endif
