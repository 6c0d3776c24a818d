import ArgumentParser
import Curlew

/// A part of a form of several parts, from `--form` or from `name@file`.
struct FormPart: Sendable, Equatable, ExpressibleByArgument {
    enum Content: Sendable, Equatable {
        case text(String)
        /// A file as an attachment.
        case file(String)
        /// The text of a file.
        case textOfFile(String)
    }

    var name: String
    var content: Content
    var type: String?
    var fileName: String?

    init(name: String, content: Content, type: String? = nil) {
        self.name = name
        self.content = content
        self.type = type
    }

    /// Reads `name=text`, `name=@file` or `name=<file`, each perhaps with `;type=…` and `;filename=…`. Text, path and
    /// values may be in double quotes, as in curl.
    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        name = String(parts[0])
        var rest = parts[1]
        let mark = rest.first
        if mark == "@" || mark == "<" { rest.removeFirst() }
        let word = FormWord.take(from: &rest)
        content = mark == "@" ? .file(word) : mark == "<" ? .textOfFile(word) : .text(word)
        while let attribute = FormWord.attributes.first(where: { rest.hasPrefix($0) }) {
            rest = rest.dropFirst(attribute.count)
            let value = FormWord.take(from: &rest)
            if attribute == FormWord.type { type = value } else { fileName = value }
        }
        if case .file("") = content { return nil }
    }

    /// The part as a value of curl's `--form`.
    var word: String {
        var word =
            switch content {
            case .text(let text): "\(name)=\(FormWord.quoted(text))"
            case .file(let path): "\(name)=@\(FormWord.quoted(path))"
            case .textOfFile(let path): "\(name)=<\(FormWord.quoted(path))"
            }
        if let type { word += ";type=\(type)" }
        if let fileName { word += ";filename=\(FormWord.quoted(fileName))" }
        return word
    }

    func append(to form: inout MultipartFormData) async throws {
        switch content {
        case .text(let text) where type == nil: form.append(text, name: name)
        case .text(let text): try form.append(.string(text), name: name, contentType: type)
        case .textOfFile(let path): form.append(try await InputFile.bytes(of: path), name: name)
        case .file("-"):
            let bytes = try await InputFile.bytes(of: "-")
            try form.append(.bytes(bytes), name: name, fileName: fileName ?? "-", contentType: type)
        case .file(let path): try form.append(file: path, name: name, fileName: fileName, contentType: type)
        }
    }

    func maskingSecrets() -> FormPart {
        var part = self
        if case .text = content, SecretText.isSecret(name) { part.content = .text("***") }
        return part
    }
}
