internal import HTTPTypes

/// A name for a file that holds a response's body. Whatever a server says, it is a name and no path.
enum SuggestedFileName {
    /// The name in Content-Disposition, else the last part of the URI's path, else `download` with an extension that goes
    /// with the media type.
    static func name(fields: HTTPFields, uri: URI) -> String {
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
        MediaType(contentTypeOf: fields).flatMap { FileExtensionTable.fileExtension(for: $0) }
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

extension Response {
    /// A name for a file that holds the body: from Content-Disposition (RFC 6266: `filename*` before `filename`), else the last
    /// part of the path of ``uri``, else `download` with an extension that goes with the media type.
    ///
    /// It is a name in a folder, whatever the server says: of a path only the last part counts; control characters and those
    /// that change the direction of writing are taken out, and so are dots and spaces at both ends, so that it is not hidden;
    /// what Windows does not take in names becomes `_`, and names of its devices get one before them. It has at most 255 bytes
    /// of UTF-8; the extension stays.
    public var suggestedFileName: String { SuggestedFileName.name(fields: fields, uri: uri) }
}
