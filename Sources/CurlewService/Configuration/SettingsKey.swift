#if Service
internal import Configuration
public import Curlew

extension HTTPSession.Settings {
    /// A key of a configuration with its documentation, for a program's help and for a provider's list of secrets.
    ///
    /// ```swift
    /// for key in HTTPSession.Settings.keys { print(key.name, key.form, key.defaultValue ?? "–", key.meaning) }
    /// ```
    public struct Key: Sendable, Hashable {
        /// The name of the key, relative to the reader's scope: `timeouts.connect`.
        public let name: String
        /// The form of the value, in words: "duration".
        public let form: String
        /// The value if the key is missing and the program has no default of its own; nil for none.
        public let defaultValue: String?
        /// True if the value is secret: it is read as a secret and never appears in an error.
        public let isSecret: Bool
        /// The meaning, in one line.
        public let meaning: String

        /// The key in swift-configuration's type.
        var configKey: ConfigKey { ConfigKey(name.split(separator: ".").map(String.init)) }
    }

    /// All keys, in the order of the article <doc:Configuration>.
    public static let keys: [Key] = SettingsTable.all.map(\.key)
}

/// A key and the effect of its value.
struct SettingsEntry: Sendable {
    let key: HTTPSession.Settings.Key
    /// The expected value, for errors: "a duration such as 30s".
    let expectation: String
    let readsList: Bool
    /// Stores the value in a draft.
    /// - Returns: False for a value that does not have the form.
    let apply: @Sendable (ConfigurationText, inout SettingsDraft) -> Bool

    /// - Parameters:
    ///   - name: The name of the key.
    ///   - path: The property that the value is stored in; its initial value is the default.
    ///   - form: The form that reads and shows the value.
    ///   - secret: True if the value is never shown.
    ///   - standard: The default in the table; nil shows the property's default.
    ///   - meaning: The meaning, in one line.
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
