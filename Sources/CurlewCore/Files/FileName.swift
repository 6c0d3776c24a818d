internal import HTTPTypes

/// A file's name as a stem and an extension.
struct FileName: Sendable, Hashable {
    var stem: String
    /// The extension with its dot, and with a preceding `.tar`; empty if there is none.
    var fileExtension: String

    /// The longest extension in bytes, dot included. Beyond it, the dot belongs to the stem.
    private static let extensionLimit = 32

    init(_ name: String) {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: .dot), dot != name.startIndex,
            bytes.distance(from: dot, to: name.endIndex) <= Self.extensionLimit,
            bytes.distance(from: dot, to: name.endIndex) > 1
        else {
            stem = name
            fileExtension = ""
            return
        }
        let stemBytes = name[..<dot].utf8
        let isArchive =
            stemBytes.count > 4 && stemBytes.suffix(4).map(\.lowercasedASCII).elementsEqual(".tar".utf8)
        let start = isArchive ? bytes.index(dot, offsetBy: -4) : dot
        stem = String(name[..<start])
        fileExtension = String(name[start...])
    }

    /// The name, shortened to a number of bytes. The stem is cut between characters; the extension is kept.
    func fitted(to limit: Int, number: Int? = nil) -> String {
        let end = (number.map { " (\($0))" } ?? "") + fileExtension
        return Self.prefix(of: stem, bytes: limit - end.utf8.count) + end
    }

    /// The longest beginning of whole characters within the limit. If the first character is too large, it is cut
    /// between its scalars.
    static func prefix(of text: String, bytes limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        var room = limit
        var kept = ""
        for character in text {
            guard character.utf8.count <= room else { break }
            room -= character.utf8.count
            kept.append(character)
        }
        guard kept.isEmpty else { return kept }
        for scalar in text.unicodeScalars {
            guard String(scalar).utf8.count <= room else { break }
            room -= String(scalar).utf8.count
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }
}

/// The place of a file: a folder and a name in it.
struct FilePlace: Sendable, Hashable {
    /// The folder as written; `.` if the path has none.
    let folder: String
    let name: String
    private let prefix: String

    /// The most bytes of a name in Linux file systems.
    static let nameLimit = 255

    /// Splits a path.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` for a path that cannot be a file's.
    init(_ path: String) throws {
        guard !path.utf8.contains(0) else { throw Self.invalid("the path of the file holds NUL") }
        // Bytes are searched: in Swift's text a slash and a combining mark after it are one character.
        let bytes = path.utf8
        let slash = bytes.lastIndex(of: .slash)
        let start = slash.map { bytes.index(after: $0) } ?? path.startIndex
        name = String(path[start...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw Self.invalid("the path of the file ends in no name")
        }
        guard name.utf8.count <= Self.nameLimit else {
            throw Self.invalid("the name of the file has more than \(Self.nameLimit) bytes")
        }
        prefix = String(path[..<start])
        folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The path of another file in the same folder.
    func path(of name: String) -> String { prefix + name }

    private static func invalid(_ message: String) -> CurlewError { CurlewError(.invalidDestination, message) }
}

extension UInt8 {
    static let dot = UInt8(ascii: ".")
}

/// A name for a file that holds a response's body. It is always a name and never a path, whatever the server sends.
enum SuggestedFileName {
    /// The name in Content-Disposition, else the last part of the URI's path, else `download` with an extension for the
    /// media type.
    static func name(fields: HTTPFields, uri: CurlewURI) -> String {
        ContentDisposition(of: fields)?.fileName.flatMap { sanitized($0) }
            ?? lastPart(of: uri.path).flatMap { sanitized($0) }
            ?? "download" + (fallbackExtension(fields).map { ".\($0)" } ?? "")
    }

    /// The last part of the path, percent-decoded after the split. `sanitized` splits it again, as it may then contain
    /// slashes.
    private static func lastPart(of path: String) -> String? {
        path.split(separator: "/").last.flatMap { PercentDecoding.bytes(of: $0, isStrict: false) }
            .map { String(guessing: $0) }
    }

    private static func fallbackExtension(_ fields: HTTPFields) -> String? {
        ContentType(contentTypeOf: fields).flatMap { FileExtensionTable.fileExtension(for: $0) }
    }

    /// A safe name made of a peer's text; nil if nothing is left. It examines scalars instead of characters: the file
    /// system treats a separator with a combining accent as a separator.
    static func sanitized(_ text: String) -> String? {
        let parts = text.unicodeScalars.split { $0 == "/" || $0 == "\\" }
        guard let last = parts.last else { return nil }
        let name = fitted(trimmed(last.filter(isKept).map(replaced)[...]))
        guard !name.isEmpty else { return nil }
        // The check comes after the shortening, which may have left only a device's name.
        return isDevice(name) ? fitted(Array("_\(name)".unicodeScalars)[...]) : name
    }

    /// The name within the limit of the file system. Dots and spaces that the shortening exposed at the ends are
    /// removed.
    private static func fitted(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        let cut = FileName(String(String.UnicodeScalarView(scalars))).fitted(to: FilePlace.nameLimit)
        return String(String.UnicodeScalarView(trimmed(Array(cut.unicodeScalars)[...])))
    }

    /// False for control characters, for invisible characters, and for those that change the direction of the following
    /// text: `photo[U+202E]gpj.exe` would look like `photoexe.jpg`. Joiners are kept, as some scripts need them.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }

    /// Replaces characters that other systems forbid in names by `_`, and spaces of any width by a space.
    private static func replaced(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar {
        case "<", ">", ":", "\"", "|", "?", "*": "_"
        default: scalar.properties.generalCategory == .spaceSeparator ? " " : scalar
        }
    }

    /// Removes dots and spaces at the beginning, which hide a file, and at the end, which other systems drop.
    private static func trimmed(_ scalars: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
        func isLoose(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar == " " }
        var kept = scalars.drop(while: isLoose)
        while let last = kept.last, isLoose(last) { kept.removeLast() }
        return kept
    }

    private static let devices: Set<String> = ["con", "prn", "aux", "nul", "conin$", "conout$"]

    /// True for the name of a device on Windows, with any extension.
    private static func isDevice(_ name: String) -> Bool {
        let stem = Array(name.unicodeScalars.prefix { $0 != "." })
        let base = String(String.UnicodeScalarView(trimmed(stem[...]))).lowercased()
        if devices.contains(base) { return true }
        let scalars = Array(base.unicodeScalars)
        guard scalars.count == 4, base.hasPrefix("com") || base.hasPrefix("lpt") else { return false }
        return "0123456789¹²³".unicodeScalars.contains(scalars[3])
    }
}

extension CurlewResponse {
    /// A name for a file that holds the body: from Content-Disposition (RFC 6266: `filename*` before `filename`), else
    /// the last part of the path of ``uri``, else `download` with an extension for the media type.
    ///
    /// The result is always a name in a folder, whatever the server sends:
    /// - Only the last part of a path is used.
    /// - Control characters, and characters that change the direction of writing, are removed.
    /// - Dots and spaces at both ends are removed, so that the file is not hidden.
    /// - Characters that Windows forbids become `_`, and the names of Windows devices get a leading `_`.
    /// - The name has at most 255 bytes of UTF-8; the extension is kept.
    public var suggestedFileName: String { SuggestedFileName.name(fields: fields, uri: uri) }
}
