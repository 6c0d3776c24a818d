#if Service
internal import Configuration
public import Curlew

extension HTTPSession.Settings {
    /// A key of a configuration, and what is known of it: for a program's own help, and for the secrets of a provider.
    ///
    /// ```swift
    /// for key in HTTPSession.Settings.keys { print(key.name, key.form, key.defaultValue ?? "–", key.meaning) }
    /// ```
    public struct Key: Sendable, Hashable {
        /// The key, relative to the reader's scope: `timeouts.connect`.
        public let name: String
        /// The values that it takes, in words: "duration".
        public let form: String
        /// The value that holds where the key is missing and the program has no default of its own; nil for none.
        public let defaultValue: String?
        /// True if the value is secret: it is read as such, and never in an error.
        public let isSecret: Bool
        /// The meaning, in a line.
        public let meaning: String

        /// The name as swift-configuration has it.
        var configKey: ConfigKey { ConfigKey(name.split(separator: ".").map(String.init)) }
    }

    /// Every key that is read, in the order of the article <doc:Configuration>.
    public static let keys: [Key] = SettingsTable.all.map(\.key)
}

/// A key, and what its value does.
struct SettingsEntry: Sendable {
    let key: HTTPSession.Settings.Key
    /// The value that is expected, for errors: "a duration such as 30s".
    let expectation: String
    let readsList: Bool
    /// Puts the value where it belongs.
    /// - Returns: False for a value that is not of the form.
    let apply: @Sendable (ConfigurationText, inout SettingsDraft) -> Bool

    /// - Parameters:
    ///   - name: The key.
    ///   - path: Where the value goes; its default is what is there.
    ///   - form: How it is read and shown.
    ///   - secret: True if it is never shown.
    ///   - standard: What the table shows for the default; nil is the default itself.
    ///   - meaning: The meaning, in a line.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<SettingsDraft, Value> & Sendable, _ form: ValueForm<Value>,
        secret: Bool = false, standard: String? = nil, _ meaning: String
    ) {
        key = HTTPSession.Settings.Key(
            name: name, form: form.name, defaultValue: standard ?? form.show(SettingsDraft()[keyPath: path]),
            isSecret: secret, meaning: meaning)
        expectation = form.expectation
        readsList = form.isList
        apply = { text, draft in
            guard let value = form.read(text) else { return false }
            draft[keyPath: path] = value
            return true
        }
    }
}
#endif
