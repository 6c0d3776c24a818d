/// The cookie file format of Netscape, which curl, wget and many others read: a line for each cookie, with seven fields
/// separated by tabs. It cannot store SameSite, nor tabs in names and paths.
enum CookieFile {
    private static let beginning = "# Netscape HTTP Cookie File\n"
    private static let httpOnlyMark = Array("#HttpOnly_".utf8)

    // MARK: Writing

    /// The bytes of a file. Data that the format cannot store is left out.
    static func bytes(of cookies: [CookieJar.Cookie]) -> [UInt8] {
        var bytes = Array(beginning.utf8)
        for cookie in cookies where !cookie.nameBytes.contains(.tab) && !cookie.path.utf8.contains(.tab) {
            append(cookie, to: &bytes)
        }
        return bytes
    }

    private static func append(_ cookie: CookieJar.Cookie, to bytes: inout [UInt8]) {
        if cookie.isHTTPOnly { bytes += httpOnlyMark }
        let domain = cookie.isHostOnly ? "\(cookie.domain)\tFALSE" : ".\(cookie.domain)\tTRUE"
        // Zero means that there is no date.
        let expiry = cookie.expirySeconds.map { max(1, $0) } ?? 0
        bytes += "\(domain)\t\(cookie.path)\t\(cookie.isSecure ? "TRUE" : "FALSE")\t\(expiry)\t".utf8
        bytes += cookie.nameBytes
        bytes.append(.tab)
        bytes += cookie.valueBytes
        bytes.append(.lineFeed)
    }

    // MARK: Reading

    /// The most lines without a cookie in a report.
    private static let skippedLimit = 100

    /// The cookies of a file, and the numbers of the first lines that are not cookies.
    static func read(_ bytes: [UInt8]) -> (cookies: [CookieJar.Cookie], skipped: [Int]) {
        var cookies: [CookieJar.Cookie] = []
        var skipped: [Int] = []
        var rest = bytes[...]
        var number = 0
        while !rest.isEmpty {
            let end = rest.firstIndex(of: .lineFeed) ?? rest.endIndex
            number += 1
            var line = rest[..<end]
            rest = rest[end...].dropFirst()
            if line.last == .carriageReturn { line.removeLast() }
            let isHTTPOnly = line.starts(with: httpOnlyMark)
            if isHTTPOnly { line = line.dropFirst(httpOnlyMark.count) }
            guard isHTTPOnly || !line.allSatisfy(\.isBlank) && line.first != .numberSign else { continue }
            if let cookie = cookie(line, isHTTPOnly: isHTTPOnly) {
                cookies.append(cookie)
            } else if skipped.count < skippedLimit {
                skipped.append(number)
            }
        }
        return (cookies, skipped)
    }

    /// The last field contains the rest of the line. Some editors remove a tab at the end of a line, and so an empty
    /// value with its tab.
    private static func cookie(_ line: ArraySlice<UInt8>, isHTTPOnly: Bool) -> CookieJar.Cookie? {
        let fields = line.split(separator: .tab, maxSplits: 6, omittingEmptySubsequences: false)
        guard fields.count >= 6, let includesHosts = flag(fields[1]), let isSecure = flag(fields[3]),
            !fields[4].isEmpty, fields[4].count <= 19, fields[4].allSatisfy(\.isDigit),
            let expiry = Int64(String(decoding: fields[4], as: UTF8.self))
        else { return nil }
        return try? CookieJar.Cookie(
            name: Array(fields[5]), value: fields.count > 6 ? Array(fields[6]) : [],
            domain: String(decoding: fields[0], as: UTF8.self), isHostOnly: !includesHosts,
            path: String(decoding: fields[2], as: UTF8.self), expirySeconds: expiry == 0 ? nil : expiry,
            isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: nil)
    }

    private static func flag(_ field: ArraySlice<UInt8>) -> Bool? {
        if field.isEqual(ignoringCase: "true") { return true }
        return field.isEqual(ignoringCase: "false") ? false : nil
    }
}
