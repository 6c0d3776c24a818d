internal import Curlew

extension Operation {
    /// Lists the cookies of a session.
    static let cookies = Operation(name: "cookies", rules: [.session]) { order, probe in
        let jar = probe.cookies(of: order.session)
        return { await $0.write([.init("cookies", .array(jar.cookies.map(Self.members)))]) }
    }

    private static func members(_ cookie: CookieJar.Cookie) -> JSONValue {
        .object([
            .init("name", .byteString(cookie.nameBytes)),
            .init("value", .byteString(cookie.valueBytes)),
            .init("domain", .string(cookie.domain)),
            .init("path", .string(cookie.path)),
            .init("expires", cookie.expirySeconds.map { .integer($0) } ?? .null),
            .init("secure", .bool(cookie.isSecure)),
            .init("http_only", .bool(cookie.isHTTPOnly)),
            .init("host_only", .bool(cookie.isHostOnly)),
            .init("same_site", cookie.sameSite.map { .string($0.rawValue) } ?? .null),
        ])
    }
}
