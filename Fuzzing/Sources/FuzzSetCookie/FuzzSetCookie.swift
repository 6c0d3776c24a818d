internal import FuzzingKit
internal import HTTPTypes

@testable internal import CurlewCore
@testable internal import CurlewSupport

/// A fuzz target for Set-Cookie. A jar must stay within its bounds, its Cookie fields must be valid, and it must be
/// able to read its own files.
///
/// The input is a list of fields separated by line feeds.
@main
struct FuzzSetCookie: FuzzTarget {
    private static let now: Int64 = 1_700_000_000
    private static let hosts = [
        "example.com", "www.example.com", "a.b.co.uk", "127.0.0.1", "[::1]", "localhost", "bücher.example",
    ]

    static func check(_ input: [UInt8]) {
        var choices = Choices(input)
        let host = choices.one(of: hosts)
        let path = choices.one(of: ["/", "/a/b", "/a/b/c?d=/e/"])
        let limits = choices.one(of: [
            CookieJar.Limits(), CookieJar.Limits(perDomain: 2, total: 3, fieldSize: 30), CookieJar.Limits(total: 1),
        ])
        let jar = CookieJar(limits: limits) { now }
        var isSecure = choices.flag()
        for field in choices.rest.split(separator: .lineFeed) {
            guard let uri = try? CurlewURI("http\(isSecure ? "s" : "")://\(host)\(path)") else { continue }
            let before = secureCookies(jar)
            let fields = HTTPFields([HTTPField(name: .setCookie, lenientValue: field)])
            jar.store(fields, from: uri)
            if !isSecure, limits == CookieJar.Limits() {
                requireEqual(secureCookies(jar), before, "a plain connection has changed secure cookies")
            }
            checkJar(jar)
            checkSending(jar, to: uri)
            isSecure.toggle()
        }
        checkFile(jar.cookies)
    }

    private static func secureCookies(_ jar: CookieJar) -> [CookieJar.Cookie] { jar.cookies.filter(\.isSecure) }

    private static func checkJar(_ jar: CookieJar) {
        let cookies = jar.cookies
        require(cookies.count <= jar.limits.total, "there are too many cookies")
        for cookie in cookies {
            require((try? cookie.check()) != nil, "a cookie is not sound: \(cookie)")
            require(cookie.isHostOnly || !PublicSuffixes.contains(cookie.domain), "a cookie is for everybody")
            require(cookie.expirySeconds.map { $0 > now && $0 <= now + 400 * 86_400 } ?? true, "a wrong date")
            let share = cookies.count { $0.domain == cookie.domain }
            require(share <= jar.limits.perDomain, "a domain has too many cookies")
        }
    }

    private static func checkSending(_ jar: CookieJar, to uri: CurlewURI) {
        let cookies = jar.cookiesToSend(to: uri)
        require(uri.scheme == "https" || !cookies.contains(where: \.isSecure), "a secure cookie goes out in plain text")
        var field = CookieField(HTTPFields(), limit: jar.limits.fieldSize)
        field.append(cookies)
        var fields = HTTPFields()
        field.set(in: &fields)
        require(fields.count <= 1, "there are two fields")
        for field in fields {
            field.withUnsafeBytesOfValue { bytes in
                require(bytes.allSatisfy(\.isFieldValueByte), "a control character goes out")
                require(bytes.count <= jar.limits.fieldSize.bytes, "the field is too large")
            }
        }
    }

    private static func checkFile(_ cookies: [CookieJar.Cookie]) {
        let (read, skipped) = CookieFile.read(CookieFile.bytes(of: cookies))
        require(skipped.isEmpty, "a line that was written cannot be read")
        let written = cookies.filter { !$0.nameBytes.contains(.tab) && !$0.path.utf8.contains(.tab) }
        requireEqual(read, written.map(withoutSameSite), "a file has other cookies than were written")
    }

    private static func withoutSameSite(_ cookie: CookieJar.Cookie) -> CookieJar.Cookie {
        CookieJar.Cookie(
            unchecked: cookie.nameBytes, cookie.valueBytes, domain: cookie.domain, isHostOnly: cookie.isHostOnly,
            path: cookie.path, expirySeconds: cookie.expirySeconds, isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly, sameSite: nil)
    }
}
