extension Cookie {
    /// The most bytes of name and value together (RFC 6265bis §5.6).
    static let sizeLimit = 4096
    /// The most bytes of an attribute, and so of a path.
    static let attributeLimit = 1024

    /// Checks what a server's cookie has been checked for by the time that it is one.
    func check() throws {
        guard Self.isSound(nameBytes), Self.isSound(valueBytes), !nameBytes.contains(.equals) else {
            throw CurlewError(.invalidRequest, "the name or value of a cookie cannot be sent as it stands")
        }
        guard !(nameBytes.isEmpty && valueBytes.isEmpty), nameBytes.count + valueBytes.count <= Self.sizeLimit else {
            throw CurlewError(.invalidRequest, "a cookie is empty, or has more than \(Self.sizeLimit) bytes")
        }
        guard path.utf8.first == .slash, path.utf8.count <= Self.attributeLimit, Self.isSound(Array(path.utf8)) else {
            throw CurlewError(.invalidRequest, "the path of a cookie cannot be one")
        }
        guard obeysPrefix else { throw CurlewError(.invalidRequest, "a cookie does not obey its prefix") }
        guard sameSite != SameSite.none || isSecure else {
            throw CurlewError(.invalidRequest, "a cookie for other sites must be secure")
        }
    }

    private static func isSound(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { SetCookie.isAllowed($0) && $0 != .semicolon }
            && bytes.first?.isBlank != true && bytes.last?.isBlank != true
    }

    /// Whether the cookie is what its name promises (RFC 6265bis §5.7, steps 20 to 22). Browsers read the prefix in any
    /// case of letters, so that servers which do so too cannot be deceived; a value without a name could pass for one.
    var obeysPrefix: Bool {
        let start = nameBytes.isEmpty ? valueBytes[...] : nameBytes[...]
        if start.hasPrefix(ignoringCase: "__secure-") { return isSecure && !nameBytes.isEmpty }
        guard start.hasPrefix(ignoringCase: "__host-") else { return true }
        return isSecure && isHostOnly && path == "/" && !nameBytes.isEmpty
    }

    /// Whether one takes the other's place in a jar.
    func isSame(as other: Cookie) -> Bool {
        nameBytes == other.nameBytes && path == other.path && isHostOnly == other.isHostOnly && domain == other.domain
    }

    /// - Parameter now: Seconds since 1970.
    func isExpired(at now: Int64) -> Bool { expirySeconds.map { $0 <= now } ?? false }
}
