#if Service
internal import Curlew
internal import HTTPTypes

/// The fields of a message that are for the next hop alone (RFC 9110 §7.6.1), and what is left without them.
enum HopFields {
    /// The names that are of one hop whether Connection lists them or not.
    static let names: Set<HTTPField.Name> = [
        .connection, .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate,
        .proxyAuthenticationInfo, .te, .transferEncoding, .upgrade, .http2Settings,
    ]

    /// The elements of a list of tokens, without space around them and without empty ones (RFC 9110 §5.6.1).
    static func words(_ value: String) -> [String] {
        value.split(separator: ",").map { $0.trimmingBlanks() }.filter { !$0.isEmpty }
    }

    /// The names that Connection lists. What is no token is left out: nothing can have that name.
    static func listed(in fields: HTTPFields) -> Set<HTTPField.Name> {
        var listed: Set<HTTPField.Name> = []
        for field in fields where field.name == .connection {
            listed.formUnion(words(field.value).compactMap { HTTPField.Name($0) })
        }
        return listed
    }

    /// The fields of a response that go on to the client.
    static func response(_ fields: HTTPFields, via: String) -> HTTPFields {
        let listed = fields.contains(.connection) ? listed(in: fields) : []
        var kept = HTTPFields()
        kept.reserveCapacity(fields.count + 1)
        for field in fields where !names.contains(field.name) && !listed.contains(field.name) { kept.append(field) }
        // A length leaves no room for trailers.
        if kept.contains(.contentLength) { kept[.trailer] = nil }
        kept.append(HTTPField(name: .via, value: via))
        return kept
    }

    /// The fields of an interim response that go on to the client.
    static func interim(_ fields: HTTPFields) -> HTTPFields {
        let listed = listed(in: fields)
        return HTTPFields(fields.filter { !names.contains($0.name) && !listed.contains($0.name) })
    }

    /// The trailers that go on to the client; nil if there are none. What has a meaning for framing, routing or the connection may not
    /// stand there (RFC 9110 §6.5.1).
    static func trailers(of body: CurlewResponse.Body) -> HTTPFields? {
        let trailers = body.trailers
        guard !trailers.isEmpty else { return nil }
        let kept = trailers.filter { !names.contains($0.name) && !forbiddenTrailers.contains($0.name) }
        return kept.isEmpty ? nil : HTTPFields(kept)
    }

    private static let forbiddenTrailers: Set<HTTPField.Name> = [
        .contentLength, .host, .setCookie, .cookie, .authorization, .contentType, .contentEncoding, .contentRange,
        .trailer, .location, .via, .forwarded,
    ]
}

extension Substring {
    /// The text without spaces and tabs around it.
    fileprivate func trimmingBlanks() -> String {
        var text = self
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
        return String(text)
    }
}

extension HTTPField.Name {
    static let host = Self("Host")!
    static let forwarded = Self("Forwarded")!
    static let forwardedFor = Self("X-Forwarded-For")!
    static let forwardedHost = Self("X-Forwarded-Host")!
    static let forwardedProtocol = Self("X-Forwarded-Proto")!
    static let realAddress = Self("X-Real-IP")!
    static let keepAlive = Self("Keep-Alive")!
    static let proxyConnection = Self("Proxy-Connection")!
    static let http2Settings = Self("HTTP2-Settings")!

    /// True if the name is one of those that tell of a client. Underscores count as hyphens, as they do for servers that make variables of
    /// fields.
    var tellsOfClient: Bool {
        if self == .forwarded || self == .realAddress { return true }
        guard canonicalName.utf8.first == UInt8(ascii: "x") else { return false }
        let name = String(decoding: canonicalName.utf8.map { $0 == 0x5F ? 0x2D : $0 }, as: UTF8.self)
        return name.hasPrefix("x-forwarded-") || name == "x-real-ip"
    }
}
#endif
