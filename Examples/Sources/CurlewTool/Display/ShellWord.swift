/// A word quoted for a shell.
enum ShellWord {
    static func quoted(_ word: String) -> String {
        let isPlain = !word.isEmpty && word.utf8.allSatisfy { plain.contains($0) }
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }

    private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-".utf8)
}
