internal import HTTPTypes

extension CurlewResponse {
    /// The target of the first link with a relation, such as `next`, in the Link fields (RFC 8288), resolved against
    /// the response's URI. nil without a readable link. Links with an anchor describe another resource and are skipped.
    public func link(_ relation: String) -> CurlewURI? {
        for value in fields[values: .link] {
            var reader = WebLinkReader(bytes: Array(value.utf8))
            while let link = reader.next() {
                guard !link.hasAnchor, link.relations.contains(Array(relation.utf8.map(\.lowercasedASCII))) else {
                    continue
                }
                if let uri = try? self.uri.resolving(link.target) { return uri }
            }
        }
        return nil
    }
}

/// A reader for the links of a Link field (RFC 8288, appendix B.2). It stops at the first unreadable part.
private struct WebLinkReader {
    struct Link {
        var target: String
        var relations: Set<[UInt8]> = []
        var hasAnchor = false
    }

    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Link? {
        skip { $0.isBlank || $0 == UInt8(ascii: ",") }
        guard take("<"), let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        var link = Link(target: String(decoding: bytes[position..<end], as: UTF8.self))
        position = end + 1
        var hasRelations = false
        while true {
            skip(\.isBlank)
            guard take(";") else { break }
            skip(\.isBlank)
            let name = token().lowercased()
            skip(\.isBlank)
            let value = take("=") ? value() : ""
            if name == "anchor" { link.hasAnchor = true }
            // The first `rel` counts (RFC 8288 §3.3).
            if name == "rel", !hasRelations {
                hasRelations = true
                link.relations = Set(value.utf8.map(\.lowercasedASCII).split(separator: .space).map { Array($0) })
            }
        }
        return link
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
    }

    private mutating func token() -> String {
        let start = position
        skip { $0.isTokenByte }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func value() -> String {
        skip(\.isBlank)
        guard take("\"") else {
            let start = position
            skip { !$0.isBlank && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
        var text: [UInt8] = []
        while position < bytes.count, !take("\"") {
            if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
            text.append(bytes[position])
            position += 1
        }
        return String(decoding: text, as: UTF8.self)
    }
}
