/// The media types that belong to file extensions: what Debian's list knows, searched by halves where it lies.
enum FileExtensionTable {
    /// What the first letter of a type in ``entries`` stands for.
    private static let prefixes: [(letter: UInt8, text: String)] = [
        (UInt8(ascii: "A"), "application/"), (UInt8(ascii: "C"), "chemical/x-"), (UInt8(ascii: "D"), "video/"),
        (UInt8(ascii: "E"), "message/"), (UInt8(ascii: "F"), "font/"), (UInt8(ascii: "I"), "image/"),
        (UInt8(ascii: "M"), "model/"), (UInt8(ascii: "T"), "text/"), (UInt8(ascii: "U"), "audio/"),
        (UInt8(ascii: "V"), "application/vnd."), (UInt8(ascii: "X"), "application/x-"),
    ]

    /// The type for the extension of a file's name, whatever the case of its letters; nil for one that is not known.
    ///
    /// Some extensions have a dot in them (`cwl.json`), so the last two parts are looked for first. A dot at the start of
    /// a name begins no extension.
    static func mediaType(forFileNamed name: some StringProtocol) -> String? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last else { return nil }
        if parts.count > 2, !(parts.count == 3 && parts[0].isEmpty) {
            if let type = mediaType(forExtension: "\(parts[parts.count - 2]).\(last)") { return type }
        }
        return parts.count == 2 && parts[0].isEmpty ? nil : mediaType(forExtension: String(last))
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

    /// Where the entry begins that `offset`, or the space before it, lies in.
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
