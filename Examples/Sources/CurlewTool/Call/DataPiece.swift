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

    /// The bytes of pieces that follow each other.
    static func bytes(of pieces: [DataPiece], separator: String) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            if index > 0 { bytes += separator.utf8 }
            bytes += try await piece.bytes()
        }
        return bytes
    }

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
}
