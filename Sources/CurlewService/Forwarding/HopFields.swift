#if Service
internal import Curlew
internal import HTTPTypes

/// The fields of a message that are only for the next hop (RFC 9110 §7.6.1), and filters that remove them.
enum HopFields {
    /// The hop-by-hop names, whether Connection lists them or not.
    static let names: Set<HTTPField.Name> = [
        .connection, .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate,
        .proxyAuthenticationInfo, .te, .transferEncoding, .upgrade, .http2Settings,
    ]

    /// The elements of a list of tokens, without surrounding space and without empty elements (RFC 9110 §5.6.1).
    ///
    /// Bytes are searched: in Swift's text a comma and a combining mark after it are one character, which would hide
    /// the element before the comma.
    static func words(_ value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ",")).map { String(decoding: $0.trimmingBlanks(), as: UTF8.self) }
            .filter { !$0.isEmpty }
    }

    /// The names that Connection lists. An element that is not a token is omitted, because no field can have that name.
    static func listed(in fields: HTTPFields) -> Set<HTTPField.Name> {
        var listed: Set<HTTPField.Name> = []
        for field in fields where field.name == .connection {
            listed.formUnion(words(field.value).compactMap { HTTPField.Name($0) })
        }
        return listed
    }

    /// The fields of a response that are forwarded to the client.
    ///
    /// Content-Length is made from the body. A server frames the response by this field. With a wrong value the client
    /// would read the rest of the body as the next response (RFC 9112 §11.1).
    static func response(_ fields: HTTPFields, length: Int64?, via: String) -> HTTPFields {
        let listed = fields.contains(.connection) ? listed(in: fields) : []
        var kept = HTTPFields()
        kept.reserveCapacity(fields.count + 1)
        var hasLength = false
        for field in fields where !names.contains(field.name) && !listed.contains(field.name) {
            guard field.name == .contentLength else {
                kept.append(field)
                continue
            }
            // The field keeps its place; a second field is omitted.
            if let length, !hasLength { kept.append(HTTPField(name: field.name, value: String(length))) }
            hasLength = true
        }
        if let length, !kept.contains(.contentLength) {
            kept.append(HTTPField(name: .contentLength, value: String(length)))
        }
        // A body with Content-Length cannot have trailers.
        if length != nil { kept[.trailer] = nil }
        kept.append(HTTPField(name: .via, value: via))
        return kept
    }

    /// The fields of an interim response that are forwarded to the client.
    static func interim(_ fields: HTTPFields) -> HTTPFields {
        let listed = listed(in: fields)
        // An interim response has no content, and so no length of it (RFC 9110 §8.6).
        return HTTPFields(
            fields.filter { !names.contains($0.name) && !listed.contains($0.name) && $0.name != .contentLength })
    }

    /// The trailers that are forwarded to the client; nil if there are none. Fields for framing, routing or the
    /// connection are not allowed in trailers (RFC 9110 §6.5.1).
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

extension Substring.UTF8View {
    /// The bytes without spaces and tabs at their ends.
    fileprivate func trimmingBlanks() -> Substring.UTF8View {
        var bytes = drop { $0 == 0x20 || $0 == 0x09 }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return bytes
    }
}

extension HTTPField.Name {
    static let forwardedFor = Self("X-Forwarded-For")!
    static let forwardedHost = Self("X-Forwarded-Host")!
    static let forwardedProtocol = Self("X-Forwarded-Proto")!
    static let keepAlive = Self("Keep-Alive")!
    static let proxyConnection = Self("Proxy-Connection")!
    static let http2Settings = Self("HTTP2-Settings")!

    /// True if the name describes a client: its address, its requested scheme or host, or its certificate (RFC 9440).
    /// Underscores count as hyphens, as they do for servers that turn fields into variables.
    var tellsOfClient: Bool {
        let name = hyphenatedName
        return name.hasPrefix("x-forwarded-") || Self.clientNames.contains(name)
    }

    /// True if the name has an underscore and would be a framing or hop-by-hop field with a hyphen in its place.
    var imitatesFraming: Bool {
        guard canonicalName.utf8.contains(0x5F), let name = HTTPField.Name(hyphenatedName) else { return false }
        return HopFields.names.contains(name) || name == .contentLength
    }

    /// The name in lower case, with underscores replaced by hyphens.
    private var hyphenatedName: String {
        guard canonicalName.utf8.contains(0x5F) else { return canonicalName }
        return String(decoding: canonicalName.utf8.map { $0 == 0x5F ? 0x2D : $0 }, as: UTF8.self)
    }

    /// The names, besides X-Forwarded-…, that proxies and content delivery networks use for the address, scheme, host
    /// and certificate of a client.
    private static let clientNames: Set<String> = [
        "forwarded", "x-forwarded", "forwarded-for", "x-real-ip", "x-client-ip", "client-ip", "x-client-cert",
        "client-cert",
        "client-cert-chain", "true-client-ip", "x-cluster-client-ip", "x-original-forwarded-for", "x-originating-ip",
        "x-remote-ip", "x-remote-addr", "x-proxyuser-ip", "x-envoy-external-address", "x-azure-clientip",
        "x-azure-socketip", "x-appengine-user-ip", "cf-connecting-ip", "cf-connecting-ipv6", "cf-pseudo-ipv4",
        "cf-visitor", "fastly-client-ip", "fly-client-ip", "x-scheme", "x-url-scheme", "front-end-https", "x-host",
        "x-original-host", "x-ssl-client-cert",
    ]
}
#endif
