internal import HTTPTypes

/// A file's name as a stem and an extension.
struct FileName: Sendable, Hashable {
    var stem: String
    /// With its dot, and with `.tar` before it if that is there; empty if there is none.
    var fileExtension: String

    /// Extensions beyond this many bytes are none: a name with a dot far from its end.
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
        let isArchive = name[..<dot].lowercased().hasSuffix(".tar") && name[..<dot].utf8.count > 4
        let start = isArchive ? bytes.index(dot, offsetBy: -4) : dot
        stem = String(name[..<start])
        fileExtension = String(name[start...])
    }

    /// The name of so many bytes at most: the stem is cut between characters, the extension stays.
    func fitted(to limit: Int, number: Int? = nil) -> String {
        let end = (number.map { " (\($0))" } ?? "") + fileExtension
        return Self.prefix(of: stem, bytes: limit - end.utf8.count) + end
    }

    /// As many whole characters from the beginning as there is room for; of one that is larger than that, what fits of its
    /// scalars.
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

/// Where a file goes: a folder, and a name in it.
struct FilePlace: Sendable, Hashable {
    /// The folder as written; `.` if there is none in the path.
    let folder: String
    let name: String
    private let prefix: String

    /// The most bytes of a name that the file systems of Linux take.
    static let nameLimit = 255

    /// Takes a path apart.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidDestination`` if it can be none of a file.
    init(_ path: String) throws {
        guard !path.utf8.contains(0) else { throw Self.invalid("the path of the file holds NUL") }
        let bytes = path.utf8
        let slash = bytes.lastIndex(of: .slash)
        name = String(path[(slash.map { bytes.index(after: $0) } ?? path.startIndex)...])
        guard !name.isEmpty, name != ".", name != ".." else {
            throw Self.invalid("the path of the file ends in no name")
        }
        guard name.utf8.count <= Self.nameLimit else {
            throw Self.invalid("the name of the file has more than \(Self.nameLimit) bytes")
        }
        prefix = slash.map { String(path[...$0]) } ?? ""
        folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The path of another file in the same folder.
    func path(of name: String) -> String { prefix + name }

    private static func invalid(_ message: String) -> CurlewError { CurlewError(.invalidDestination, message) }
}

extension UInt8 {
    static let dot = UInt8(ascii: ".")
}

/// A name for a file that holds a response's body. Whatever a server says, it is a name and no path.
enum SuggestedFileName {
    /// The name in Content-Disposition, else the last part of the URI's path, else `download` with an extension that goes
    /// with the media type.
    static func name(fields: HTTPFields, uri: CurlewURI) -> String {
        ContentDisposition(of: fields)?.fileName.flatMap { sanitized($0) }
            ?? lastPart(of: uri.path).flatMap { sanitized($0) }
            ?? "download" + (fallbackExtension(fields).map { ".\($0)" } ?? "")
    }

    /// Percent-decoded after the path is taken apart, and taken apart again by what makes it harmless.
    private static func lastPart(of path: String) -> String? {
        path.split(separator: "/").last.flatMap { PercentDecoding.bytes(of: $0, isStrict: false) }
            .map { String(guessing: $0) }
    }

    private static func fallbackExtension(_ fields: HTTPFields) -> String? {
        ContentType(contentTypeOf: fields).flatMap { FileExtensionTable.fileExtension(for: $0) }
    }

    /// Makes a name of what a peer says is one; nil if nothing is left. Scalars are looked at, not characters: a separator
    /// with an accent upon it is a separator to the file system.
    static func sanitized(_ text: String) -> String? {
        let parts = text.unicodeScalars.split { $0 == "/" || $0 == "\\" }
        guard let last = parts.last else { return nil }
        let name = fitted(trimmed(last.filter(isKept).map(replaced)[...]))
        guard !name.isEmpty else { return nil }
        // Looked at when it is short: cutting may have left no more than the device.
        return isDevice(name) ? fitted(Array("_\(name)".unicodeScalars)[...]) : name
    }

    /// Cut to what a file system takes, and without what the cutting has laid bare.
    private static func fitted(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        let cut = FileName(String(String.UnicodeScalarView(scalars))).fitted(to: FilePlace.nameLimit)
        return String(String.UnicodeScalarView(trimmed(Array(cut.unicodeScalars)[...])))
    }

    /// Control characters, and those that are not seen or change the direction in which the rest is seen, so that
    /// `photo[U+202E]gpj.exe` would look like `photoexe.jpg`. Joiners are part of words in some scripts.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }

    /// Files travel: what other systems do not take in names becomes `_`. Spaces of any width are spaces.
    private static func replaced(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar {
        case "<", ">", ":", "\"", "|", "?", "*": "_"
        default: scalar.properties.generalCategory == .spaceSeparator ? " " : scalar
        }
    }

    /// Without dots and spaces at the beginning, which hide a file, and at the end, which other systems drop.
    private static func trimmed(_ scalars: ArraySlice<Unicode.Scalar>) -> ArraySlice<Unicode.Scalar> {
        func isLoose(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || scalar == " " }
        var kept = scalars.drop(while: isLoose)
        while let last = kept.last, isLoose(last) { kept.removeLast() }
        return kept
    }

    private static let devices: Set<String> = ["con", "prn", "aux", "nul", "conin$", "conout$"]

    /// What stands for a device on Windows, whatever extension it has.
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
    /// A name for a file that holds the body: from Content-Disposition (RFC 6266: `filename*` before `filename`), else the last
    /// part of the path of ``uri``, else `download` with an extension that goes with the media type.
    ///
    /// It is a name in a folder, whatever the server says: of a path only the last part counts; control characters and those
    /// that change the direction of writing are taken out, and so are dots and spaces at both ends, so that it is not hidden;
    /// what Windows does not take in names becomes `_`, and names of its devices get one before them. It has at most 255 bytes
    /// of UTF-8; the extension stays.
    public var suggestedFileName: String { SuggestedFileName.name(fields: fields, uri: uri) }
}
