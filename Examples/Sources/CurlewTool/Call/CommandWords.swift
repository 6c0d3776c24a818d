/// The words of a call, rewritten for ArgumentParser.
///
/// curl joins short options with each other and with a value (`-sSLo file`, `-XPOST`, `-d@file`). It keeps the order
/// of `--data`, `--data-raw`, `--data-binary` and `--data-urlencode`. ArgumentParser does neither.
enum CommandWords {
    /// The short options with a value.
    static let shortValued = Set("AbDdeEFHmorTuwxX")

    /// The long options with a value.
    static let longValued: Set<String> = [
        "cacert", "cache-folder", "cert", "color", "connect-timeout", "connect-to", "cookie", "data", "data-ascii",
        "data-binary", "data-raw", "data-urlencode", "dump-header", "form", "header", "json", "key", "max-time",
        "noproxy", "output", "proxy", "range", "referer", "request", "resolve", "retry", "unix-socket", "upload-file",
        "user", "user-agent", "write-out",
    ]

    /// The long options that add a piece to the body.
    private static let pieces: [String: DataPiece.Kind] = [
        "data": .plain, "data-ascii": .plain, "data-raw": .raw, "data-binary": .binary, "data-urlencode": .encoded,
    ]

    static func rewritten(_ words: [String]) -> [String] {
        var rest = words[...]
        var result: [String] = []
        while let word = rest.popFirst() {
            if word == "--" { return result + ["--"] + rest }
            if word.hasPrefix("--") {
                appendLong(word, &rest, to: &result)
            } else if word.hasPrefix("-"), word != "-" {
                appendShort(word.dropFirst(), &rest, to: &result)
            } else {
                result.append(word)
            }
        }
        return result
    }

    private static func appendLong(_ word: String, _ rest: inout ArraySlice<String>, to result: inout [String]) {
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map(String.init) ?? ""
        guard longValued.contains(name), let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            return result.append(word)
        }
        if let kind = pieces[name] {
            result += ["--data", DataPiece(kind, value).word]
        } else {
            result += ["--\(name)", value]
        }
    }

    private static func appendShort(
        _ letters: Substring, _ rest: inout ArraySlice<String>, to result: inout [String]
    ) {
        var letters = letters
        while let letter = letters.popFirst() {
            result.append("-\(letter)")
            guard shortValued.contains(letter) else { continue }
            if let value = letters.isEmpty ? rest.popFirst() : String(letters) { result.append(value) }
            return
        }
    }
}
