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

extension UInt8 {
    static let dot = UInt8(ascii: ".")
}
