/// A Set-Cookie field, read as RFC 6265bis §5.6 says: bytes, and the attributes that a cookie is made of.
struct SetCookie {
    /// A Path attribute.
    enum Path: Equatable {
        case given([UInt8])
        /// It was not one: the path follows from the URI.
        case fallback
    }

    private(set) var name: [UInt8] = []
    private(set) var value: [UInt8]
    /// Seconds since 1970.
    private(set) var expires: Int64?
    /// Seconds from now; 0 also stands for less.
    private(set) var maxAge: Int64?
    /// In lower case and without a leading dot; empty if it was given so.
    private(set) var domain: [UInt8]?
    private(set) var path: Path?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite: Cookie.SameSite?

    /// Nil for what is no cookie: with control characters, empty, or too large.
    init?(_ bytes: [UInt8]) {
        guard bytes.allSatisfy(Self.isAllowed) else { return nil }
        let end = bytes.firstIndex(of: .semicolon) ?? bytes.endIndex
        let pair = bytes[..<end]
        if let equals = pair.firstIndex(of: .equals) {
            name = Array(pair[..<equals].trimmingBlanks)
            value = Array(pair[(equals + 1)...].trimmingBlanks)
        } else {
            value = Array(pair.trimmingBlanks)
        }
        guard !(name.isEmpty && value.isEmpty), name.count + value.count <= Cookie.sizeLimit else { return nil }
        var rest = bytes[end...]
        while rest.popFirst() != nil {
            let end = rest.firstIndex(of: .semicolon) ?? rest.endIndex
            take(rest[..<end])
            rest = rest[end...]
        }
    }

    /// Everything but control characters; a tab is none here.
    static func isAllowed(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == .tab }

    /// Of several attributes with a name, the last that can be read counts.
    private mutating func take(_ attribute: ArraySlice<UInt8>) {
        let equals = attribute.firstIndex(of: .equals)
        let name = attribute[..<(equals ?? attribute.endIndex)].trimmingBlanks
        let value = equals.map { attribute[($0 + 1)...].trimmingBlanks } ?? []
        guard value.count <= Cookie.attributeLimit else { return }
        if name.isEqual(ignoringCase: "expires") {
            expires = CookieDate.seconds(value) ?? expires
        } else if name.isEqual(ignoringCase: "max-age") {
            maxAge = Self.age(value) ?? maxAge
        } else if name.isEqual(ignoringCase: "domain") {
            domain = (value.first == UInt8(ascii: ".") ? value.dropFirst() : value).map(\.lowercasedASCII)
        } else if name.isEqual(ignoringCase: "path") {
            path = value.first == .slash ? .given(Array(value)) : .fallback
        } else if name.isEqual(ignoringCase: "secure") {
            isSecure = true
        } else if name.isEqual(ignoringCase: "httponly") {
            isHTTPOnly = true
        } else if name.isEqual(ignoringCase: "samesite") {
            sameSite = Self.sameSite(value)
        }
    }

    /// §5.6.2: digits, perhaps with a minus sign before them. What is too large for a number is as large as one can be.
    private static func age(_ value: ArraySlice<UInt8>) -> Int64? {
        let isNegative = value.first == UInt8(ascii: "-")
        let digits = isNegative ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        return isNegative ? 0 : Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }

    private static func sameSite(_ value: ArraySlice<UInt8>) -> Cookie.SameSite? {
        if value.isEqual(ignoringCase: "strict") { return .strict }
        if value.isEqual(ignoringCase: "lax") { return .lax }
        return value.isEqual(ignoringCase: "none") ? Cookie.SameSite.none : nil
    }
}
