extension URI {
    /// The URI with more in its query: after `?`, or after `&` if there is a query. A fragment stays behind it.
    ///
    /// Spaces, non-ASCII text and the characters `" < > \ ^ ` { | } #` are percent-encoded, everything else is taken as it
    /// stands.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` for a control character.
    public func appending(query: String) throws -> URI { try appending(query: Array(query.utf8)) }

    func appending(query: [UInt8]) throws -> URI {
        let old = Array(text.utf8)
        var new = Array(old[..<layout.queryEnd])
        new.reserveCapacity(old.count + query.count + 1)
        new.append(layout.queryEnd > layout.pathEnd ? UInt8(ascii: "&") : .questionMark)
        for byte in query {
            switch byte {
            case 0x00...0x1F, 0x7F: throw CurlewError(.invalidURL, "the query holds a control character")
            case .space, .numberSign, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), 0x80...:
                PercentEncoding.appendEscaped(byte, to: &new)
            default: new.append(byte)
            }
        }
        var moved = layout
        moved.queryEnd = new.count
        new += old[layout.queryEnd...]
        return URI(text: String(decoding: new, as: UTF8.self), layout: moved, userInformation: userInformation)
    }
}
