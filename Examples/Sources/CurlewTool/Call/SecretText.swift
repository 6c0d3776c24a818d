import Curlew

/// Texts whose secrets are masked, for `--curl` and `--verbose`.
enum SecretText {
    private static let words = [
        "apikey", "auth", "credential", "passphrase", "passwd", "password", "pwd", "secret", "session", "signature",
        "token",
    ]
    private static let names: Set<String> = ["key", "sig", "code", "otp", "pin", "pass", "jwt"]

    /// True for the name of a value that is a secret.
    static func isSecret(_ name: String) -> Bool {
        let plain = name.lowercased().filter { $0.isLetter || $0.isNumber }
        return names.contains(plain) || words.contains { plain.contains($0) }
    }

    /// The text with `***` for its secrets: JSON, or a form.
    static func masked(_ text: String) -> String {
        guard let value = try? JSONValue(parsing: Array(text.utf8)) else { return maskedForm(text) }
        let masked = masked(value)
        // The writing of JSON without secrets is kept.
        return masked == value ? text : String(decoding: masked.jsonBytes(), as: UTF8.self)
    }

    /// The pairs with `***` for the values of names that mean a secret.
    static func maskedForm(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1)
            return parts.count == 2 && isSecret(String(parts[0])) ? "\(parts[0])=***" : String(pair)
        }.joined(separator: "&")
    }

    /// The URL with `***` for the secrets of its query.
    static func maskedQuery(of url: String) -> String {
        guard let mark = url.firstIndex(of: "?") else { return url }
        return "\(url[...mark])\(maskedForm(String(url[url.index(after: mark)...])))"
    }

    private static func masked(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let values): return .array(values.map { masked($0) })
        case .object(let object):
            var masked = JSONValue.Object()
            for (name, value) in object { masked[name] = isSecret(name) ? "***" : self.masked(value) }
            return .object(masked)
        default: return value
        }
    }
}
