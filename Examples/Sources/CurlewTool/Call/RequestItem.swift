import ArgumentParser
import TerminalOutput

/// An item of a call in HTTPie's form, such as `name=value`.
enum RequestItem: Sendable, Equatable {
    /// A value on the command line, or the text of a file.
    enum Value: Sendable, Equatable {
        case text(String)
        case file(String)
    }

    /// `Name:value`. Without a value, the field is not sent: `Name:`. An empty one is `Name;`.
    case field(String, Value?)
    /// `name==value`.
    case query(String, Value)
    /// `name=value`, a text in JSON.
    case member(String, Value)
    /// `name:=value`, any value in JSON.
    case json(String, Value)
    /// `name@path`, a file in a form; a type may follow as in `photo@a.png;type=image/png`.
    case file(String, path: String, type: String?)
    /// `@path`, the complete body.
    case body(String)

    /// The separators, the longer before the shorter.
    private static let separators = [":=@", "==@", "=@", ":@", ":=", "==", "=", ":", "@"]

    /// Reads an item. A backslash takes the next character of the name as it is.
    /// - Throws: `ValidationError`.
    init(_ word: String) throws {
        guard let (name, separator, value) = Self.split(word) else {
            if word.hasSuffix(";"), word.count > 1 {
                self = .field(String(word.dropLast()), .text(""))
                return
            }
            throw ValidationError(
                "\"\(printable(word))\" is no item: name:value, name=value, name:=json, name==value, name@file or @file"
            )
        }
        guard !name.isEmpty || separator == "@" else {
            throw ValidationError("\"\(printable(word))\" has no name before the \(separator)")
        }
        guard separator != ":" || !Self.isURL(host: name, rest: value) else {
            throw ValidationError("\"\(printable(word))\" is a second URL; a call has one")
        }
        switch separator {
        case ":=@": self = .json(name, .file(value))
        case "==@": self = .query(name, .file(value))
        case "=@": self = .member(name, .file(value))
        case ":@": self = .field(name, .file(value))
        case ":=": self = .json(name, .text(value))
        case "==": self = .query(name, .text(value))
        case "=": self = .member(name, .text(value))
        case ":": self = .field(name, value.isEmpty ? nil : .text(value))
        default:
            guard !value.isEmpty else { throw ValidationError("\"\(printable(word))\" names no file") }
            self = name.isEmpty ? .body(value) : Self.file(name, value)
        }
    }

    /// True for a URL that was split at its first colon: `scheme://…`, or a host and its port.
    private static func isURL(host: String, rest: String) -> Bool {
        if rest.hasPrefix("//") { return true }
        let port = rest.prefix { $0.isASCII && $0.isNumber }
        guard host.contains(".") || host == "localhost", (1...5).contains(port.count) else { return false }
        return port.endIndex == rest.endIndex || rest[port.endIndex...].hasPrefix("/")
    }

    private static func file(_ name: String, _ value: String) -> RequestItem {
        let parts = value.split(separator: ";", maxSplits: 1)
        guard parts.count == 2, parts[1].hasPrefix("type=") else { return .file(name, path: value, type: nil) }
        return .file(name, path: String(parts[0]), type: String(parts[1].dropFirst(5)))
    }

    private static func split(_ word: String) -> (name: String, separator: String, value: String)? {
        var name = ""
        var rest = word[...]
        while let character = rest.first {
            if character == "\\", let next = rest.dropFirst().first {
                name.append(next)
                rest = rest.dropFirst(2)
            } else if let separator = separators.first(where: { rest.hasPrefix($0) }) {
                return (name, separator, String(rest.dropFirst(separator.count)))
            } else {
                name.append(character)
                rest = rest.dropFirst()
            }
        }
        return nil
    }
}

extension RequestItem.Value {
    /// The text, which a file may have.
    func text() async throws -> String {
        switch self {
        case .text(let text): text
        case .file(let path): try await InputFile.text(of: path)
        }
    }
}
