extension URI {
    /// The URI that `reference` means when read relative to this one (RFC 3986 §5.2).
    ///
    /// An absolute reference stands for itself, `//host/…` keeps the scheme, `/…` the authority, `?…` the path.
    /// Dot segments are removed; a fragment of the base is not inherited.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public func resolving(_ reference: String) throws -> URI {
        let utf8 = reference.utf8
        if Self.beginsWithScheme(utf8) { return try URI(reference).removingDotSegments() }
        let end: Int
        switch utf8.first {
        case nil, UInt8.numberSign: end = layout.queryEnd
        case UInt8.questionMark: end = layout.pathEnd
        case UInt8.slash where utf8.dropFirst().first == .slash:
            return try URI("\(scheme):\(reference)").removingDotSegments()
        case UInt8.slash: end = layout.authorityEnd
        default: end = folderEnd
        }
        return try URI(prefix(through: end) + reference).withUserInformation(userInformation).removingDotSegments()
    }

    private static func beginsWithScheme(_ utf8: String.UTF8View) -> Bool {
        guard utf8.first?.isLetter == true else { return false }
        for byte in utf8 {
            if byte == .colon { return true }
            guard byte.isLetter || byte.isDigit || "+-.".utf8.contains(byte) else { return false }
        }
        return false
    }

    /// Where the last segment of the path begins.
    private var folderEnd: Int {
        let utf8 = text.utf8
        var index = utf8.index(utf8.startIndex, offsetBy: layout.pathEnd)
        var offset = layout.pathEnd
        while offset > layout.authorityEnd {
            utf8.formIndex(before: &index)
            if utf8[index] == .slash { return offset }
            offset -= 1
        }
        return offset
    }

    private func prefix(through offset: Int) -> String {
        guard offset < text.utf8.count else { return text }
        return String(text[..<text.utf8.index(text.startIndex, offsetBy: offset)])
    }

    func withUserInformation(_ userInformation: String?) -> URI {
        userInformation == nil ? self : URI(text: text, layout: layout, userInformation: userInformation)
    }

    /// RFC 3986 §5.2.4, a segment at a time.
    func removingDotSegments() -> URI {
        guard layout.hasDotSegment else { return self }
        let path = self.path
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default:
                kept.append(segment)
            }
        }
        let shorter = "/" + kept.joined(separator: "/")
        let shift = path.utf8.count - shorter.utf8.count
        var moved = layout
        moved.pathEnd -= shift
        moved.queryEnd -= shift
        moved.hasDotSegment = kept.contains { $0.hasPrefix(".") }
        let rest = String(decoding: text.utf8.dropFirst(layout.pathEnd), as: UTF8.self)
        let whole = prefix(through: layout.authorityEnd) + shorter + rest
        return URI(text: whole, layout: moved, userInformation: userInformation)
    }
}
