/// A Set-Cookie field, parsed by RFC 6265bis §5.6: the bytes of the cookie, and its attributes.
struct SetCookie {
    /// A Path attribute.
    enum Path: Equatable {
        case given([UInt8])
        /// The value is not a path: the path follows from the URI.
        case fallback
    }

    private(set) var name: [UInt8] = []
    private(set) var value: [UInt8]
    /// The time of expiry, in seconds since 1970.
    private(set) var expires: Int64?
    /// The age in seconds from now; 0 also represents negative values.
    private(set) var maxAge: Int64?
    /// The domain in lower case and without a leading dot; empty if its value was empty.
    private(set) var domain: [UInt8]?
    private(set) var path: Path?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite: CookieJar.Cookie.SameSite?

    /// Nil for an invalid field: with control characters, empty, or too large.
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
        guard !(name.isEmpty && value.isEmpty), name.count + value.count <= CookieJar.Cookie.sizeLimit else {
            return nil
        }
        var rest = bytes[end...]
        while rest.popFirst() != nil {
            let end = rest.firstIndex(of: .semicolon) ?? rest.endIndex
            take(rest[..<end])
            rest = rest[end...]
        }
    }

    /// True for all bytes except control characters; tabs are allowed.
    static func isAllowed(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == .tab }

    /// Of several attributes with the same name, the last readable one counts.
    private mutating func take(_ attribute: ArraySlice<UInt8>) {
        let equals = attribute.firstIndex(of: .equals)
        let name = attribute[..<(equals ?? attribute.endIndex)].trimmingBlanks
        let value = equals.map { attribute[($0 + 1)...].trimmingBlanks } ?? []
        guard value.count <= CookieJar.Cookie.attributeLimit else { return }
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

    /// The value of Max-Age (§5.6.2): digits, optionally with a minus sign. Too large numbers become the largest
    /// number.
    private static func age(_ value: ArraySlice<UInt8>) -> Int64? {
        let isNegative = value.first == UInt8(ascii: "-")
        let digits = isNegative ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        return isNegative ? 0 : Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }

    private static func sameSite(_ value: ArraySlice<UInt8>) -> CookieJar.Cookie.SameSite? {
        if value.isEqual(ignoringCase: "strict") { return .strict }
        if value.isEqual(ignoringCase: "lax") { return .lax }
        return value.isEqual(ignoringCase: "none") ? CookieJar.Cookie.SameSite.none : nil
    }
}

/// The parser for dates in Expires (RFC 6265bis §5.1.1). The first token in the form of a time, a day, a month or a
/// year is taken as such, in any order.
enum CookieDate {
    /// The seconds since 1970; nil for an invalid date.
    static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        var time: (Int, Int, Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.split(whereSeparator: isDelimiter) {
            if time == nil, let found = readTime(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = readMonth(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        guard year >= 1601, let date = CivilDate(year: year, month: month, day: day), time.0 <= 23, time.1 <= 59,
            time.2 <= 59
        else { return nil }
        let seconds = time.0 * 3600 + time.1 * 60 + time.2
        return Int64(date.daysSince1970 * 86_400 + seconds)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// The digits at the beginning of the token; nil if their number is outside the range.
    private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int? {
        let prefix = token.prefix(while: \.isDigit)
        guard digits.contains(prefix.count) else { return nil }
        return prefix.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Three numbers of one or two digits, separated by colons; other characters than digits may follow.
    private static func readTime(_ token: ArraySlice<UInt8>) -> (Int, Int, Int)? {
        let fields = token.split(separator: .colon, maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].count <= 2, fields[1].count <= 2,
            fields[0].allSatisfy(\.isDigit), fields[1].allSatisfy(\.isDigit),
            let hour = number(fields[0], digits: 1...2), let minute = number(fields[1], digits: 1...2),
            let second = number(fields[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static let months: [StaticString] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    private static func readMonth(_ token: ArraySlice<UInt8>) -> Int? {
        months.firstIndex { token.hasPrefix(ignoringCase: $0) }.map { $0 + 1 }
    }
}
