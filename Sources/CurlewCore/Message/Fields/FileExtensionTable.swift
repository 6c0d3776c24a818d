/// The media types of file extensions, from Debian's list. The list is searched by bisection.
enum FileExtensionTable {
    /// The beginning of a type for each first letter in ``entries``.
    private static let prefixes: [(letter: UInt8, text: String)] = [
        (UInt8(ascii: "A"), "application/"), (UInt8(ascii: "C"), "chemical/x-"), (UInt8(ascii: "D"), "video/"),
        (UInt8(ascii: "E"), "message/"), (UInt8(ascii: "F"), "font/"), (UInt8(ascii: "I"), "image/"),
        (UInt8(ascii: "M"), "model/"), (UInt8(ascii: "T"), "text/"), (UInt8(ascii: "U"), "audio/"),
        (UInt8(ascii: "V"), "application/vnd."), (UInt8(ascii: "X"), "application/x-"),
    ]

    /// The type for the extension of a file's name, in any case; nil for an unknown extension.
    ///
    /// Some extensions contain a dot (`cwl.json`), so the last two parts are tried first. A dot at the start of a name
    /// does not begin an extension.
    static func mediaType(forFileNamed name: some StringProtocol) -> String? {
        let parts = name.utf8.split(separator: .dot, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count > 1, let last = parts.last else { return nil }
        if parts.count > 2, !(parts.count == 3 && parts[0].isEmpty) {
            if let type = mediaType(forExtension: "\(parts[parts.count - 2]).\(last)") { return type }
        }
        return parts.count == 2 && parts[0].isEmpty ? nil : mediaType(forExtension: last)
    }

    static func mediaType(forExtension fileExtension: String) -> String? {
        let key = fileExtension.utf8.map(lowercased)
        guard !key.isEmpty, key.count <= 64 else { return nil }
        let table = entries.utf8
        var low = 0
        var high = table.count
        while low < high {
            let start = entryStart(before: (low + high) / 2, in: table)
            let entry = table[table.index(table.startIndex, offsetBy: start)...].prefix { $0 != .space }
            let name = entry.prefix { $0 != equals }
            if name.elementsEqual(key) { return type(entry.dropFirst(name.count + 1)) }
            if name.lexicographicallyPrecedes(key) { low = start + entry.count } else { high = start - 1 }
        }
        return nil
    }

    private static let equals = UInt8(ascii: "=")

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    /// The offset of the entry that contains `offset` or follows the space at it.
    private static func entryStart(before offset: Int, in table: String.UTF8View) -> Int {
        var index = table.index(table.startIndex, offsetBy: offset)
        while table[index] != .space { index = table.index(before: index) }
        return table.distance(from: table.startIndex, to: index) + 1
    }

    static func type(_ packed: Substring.UTF8View) -> String? {
        guard let prefix = prefixes.first(where: { $0.letter == packed.first }) else { return nil }
        return prefix.text + String(decoding: packed.dropFirst(), as: UTF8.self)
    }
}

extension FileExtensionTable {
    /// The usual extension for a type that has several, or whose first entry in the list is unusual.
    private static let usual = [
        "application/gzip": "gz", "application/javascript": "js", "application/json": "json",
        "application/msword": "doc", "application/ogg": "ogx", "application/pdf": "pdf", "application/rtf": "rtf",
        "application/wasm": "wasm", "application/x-bzip2": "bz2", "application/x-plist": "plist",
        "application/x-sh": "sh", "application/x-tar": "tar", "application/x-xz": "xz",
        "application/xhtml+xml": "xhtml",
        "application/xml": "xml", "application/zip": "zip", "application/zstd": "zst", "audio/aac": "aac",
        "audio/flac": "flac", "audio/mp4": "m4a", "audio/mpeg": "mp3", "audio/ogg": "ogg", "audio/wav": "wav",
        "image/avif": "avif", "image/bmp": "bmp", "image/gif": "gif", "image/jpeg": "jpg", "image/png": "png",
        "image/svg+xml": "svg", "image/tiff": "tiff", "image/webp": "webp", "image/x-icon": "ico",
        "text/calendar": "ics",
        "text/css": "css", "text/csv": "csv", "text/html": "html", "text/javascript": "js", "text/markdown": "md",
        "text/plain": "txt", "text/xml": "xml", "video/mp4": "mp4", "video/mpeg": "mpg", "video/ogg": "ogv",
        "video/quicktime": "mov", "video/webm": "webm",
    ]

    /// An extension, without its dot, for files of a type: the usual one, else the only one in the list, else that of
    /// the type's syntax (`+json`, `+xml`, `+zip`).
    ///
    /// nil if the list has several, and for a type without meaning, such as `application/octet-stream`.
    static func fileExtension(for type: ContentType) -> String? {
        if type.essence == "application/octet-stream" { return nil }
        return usual[type.essence] ?? only(type.essence) ?? type.suffix.flatMap { usual["application/\($0)"] }
    }

    /// Searches the complete list. This is acceptable for the rare response without any other name.
    private static func only(_ essence: String) -> String? {
        var found: Substring?
        for entry in entries.split(separator: " ") {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, type(parts[1].utf8)?.lowercased() == essence else { continue }
            guard found == nil else { return nil }
            found = parts[0]
        }
        return found.map(String.init)
    }
}
