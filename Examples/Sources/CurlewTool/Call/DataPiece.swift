import ArgumentParser
import Curlew

/// A piece of a body, from `--data` or one of its relatives.
struct DataPiece: Sendable, Equatable, ExpressibleByArgument {
    enum Kind: String, Sendable {
        /// `--data`: the text, or a file without its line ends.
        case plain
        /// `--data-raw`: the text.
        case raw
        /// `--data-binary`: the text, or a file.
        case binary
        /// `--data-urlencode`: the text or a file, percent-encoded.
        case encoded
    }

    var kind: Kind
    var text: String

    /// The mark around the kind in a word. No command line of a person has it.
    private static let mark = "\u{1}"

    init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    init(argument: String) {
        let parts = argument.split(separator: "\u{1}", maxSplits: 2, omittingEmptySubsequences: false)
        if parts.count == 3, parts[0].isEmpty, let kind = Kind(rawValue: String(parts[1])) {
            self.init(kind, String(parts[2]))
        } else {
            self.init(.plain, argument)
        }
    }

    /// The piece as a word that ``init(argument:)`` reads.
    var word: String { "\(Self.mark)\(kind.rawValue)\(Self.mark)\(text)" }

    /// The path of the file that a `@` names, if the complete body is that file: it can be streamed.
    var streamedPath: String? { kind == .binary && text.hasPrefix("@") ? String(text.dropFirst()) : nil }

    /// The bytes of the piece.
    func bytes() async throws -> [UInt8] {
        switch kind {
        case .raw: return Array(text.utf8)
        case .plain, .binary:
            guard text.hasPrefix("@") else { return Array(text.utf8) }
            let bytes = try await InputFile.bytes(of: String(text.dropFirst()))
            return kind == .binary ? bytes : bytes.filter { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
        case .encoded: return try await encoded()
        }
    }

    /// `content`, `=content`, `name=content`, `@file` or `name@file`, as in curl.
    private func encoded() async throws -> [UInt8] {
        guard let end = text.firstIndex(where: { $0 == "=" || $0 == "@" }) else {
            return Array(PercentEncoding.encoded(Array(text.utf8)).utf8)
        }
        let name = text[..<end]
        let rest = String(text[text.index(after: end)...])
        let content = text[end] == "=" ? Array(rest.utf8) : try await InputFile.bytes(of: rest)
        return Array("\(name)\(name.isEmpty ? "" : "=")\(PercentEncoding.encoded(content))".utf8)
    }

    /// The piece with `***` for the values of names that mean a secret.
    func maskingSecrets() -> DataPiece {
        guard !text.hasPrefix("@") else { return self }
        let pairs = text.split(separator: "&", omittingEmptySubsequences: false).map { pair -> String in
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, SecretName.isSecret(String(parts[0])) else { return String(pair) }
            return "\(parts[0])=***"
        }
        return DataPiece(kind, pairs.joined(separator: "&"))
    }
}

/// Percent-encoding of values in queries and forms: all bytes but the unreserved characters of RFC 3986. A space is a
/// plus, as in curl and HTTPie.
enum PercentEncoding {
    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if unreserved.contains(byte) {
                text.append(byte)
            } else if byte == 0x20 {
                text.append(UInt8(ascii: "+"))
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Names of values that are secrets.
enum SecretName {
    private static let words = [
        "apikey", "auth", "credential", "passphrase", "passwd", "password", "pwd", "secret", "session", "signature",
        "token",
    ]
    private static let names: Set<String> = ["key", "sig", "code", "otp", "pin", "pass", "jwt"]

    static func isSecret(_ name: String) -> Bool {
        let plain = name.lowercased().filter { $0.isLetter || $0.isNumber }
        return names.contains(plain) || words.contains { plain.contains($0) }
    }
}
