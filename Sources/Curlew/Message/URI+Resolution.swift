extension URI {
    /// The URI that `reference` means when read relative to this one (RFC 3986 §5.2).
    ///
    /// An absolute reference stands for itself, `//host/…` keeps the scheme, `/…` the authority, `?…` the path.
    /// Dot segments are removed; a fragment of the base is not inherited.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public func resolving(_ reference: String) throws -> URI {
        let bytes = Array(reference.utf8)
        if URIParser.schemeEnd(of: bytes) != nil {
            return try URI(reference).removingDotSegments()
        }
        if bytes.starts(with: [.slash, .slash]) {
            return try URI("\(scheme):\(reference)").removingDotSegments()
        }
        let resolved: URI
        switch bytes.first {
        case nil, UInt8.numberSign:
            resolved = try URI(prefix(through: layout.queryEnd) + reference)
        case UInt8.questionMark:
            resolved = try URI(prefix(through: layout.pathEnd) + reference)
        case UInt8.slash:
            resolved = try URI(prefix(through: layout.authorityEnd) + reference)
        default:
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
            resolved = try URI(prefix(through: layout.authorityEnd) + folder + reference)
        }
        return resolved.withUserInformation(userInformation).removingDotSegments()
    }

    private func prefix(through offset: Int) -> String {
        String(decoding: text.utf8.prefix(offset), as: UTF8.self)
    }

    private func withUserInformation(_ userInformation: String?) -> URI {
        URI(text: text, layout: layout, userInformation: userInformation)
    }

    /// RFC 3986 §5.2.4, a segment at a time.
    func removingDotSegments() -> URI {
        let path = self.path
        guard path.contains("/.") else { return self }
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
        let rest = String(decoding: text.utf8.dropFirst(layout.pathEnd), as: UTF8.self)
        let whole = prefix(through: layout.authorityEnd) + shorter + rest
        return URI(text: whole, layout: moved, userInformation: userInformation)
    }
}
