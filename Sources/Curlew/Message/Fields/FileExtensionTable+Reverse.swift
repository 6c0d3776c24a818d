extension FileExtensionTable {
    /// What files of a type are called, where there are several ways or the list knows another one first.
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

    /// An extension, without its dot, for files of a type: the usual one, else the only one that there is, else that of the
    /// type's syntax (`+json`, `+xml`, `+zip`). nil if there are several, or the type says nothing, as
    /// `application/octet-stream` does.
    static func fileExtension(for type: MediaType) -> String? {
        if type.essence == "application/octet-stream" { return nil }
        return usual[type.essence] ?? only(type.essence) ?? type.suffix.flatMap { usual["application/\($0)"] }
    }

    /// Looks through the whole list, which a response without any other name is worth.
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
