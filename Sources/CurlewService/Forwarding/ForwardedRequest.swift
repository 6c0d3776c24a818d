#if Service
internal import Curlew
internal import HTTPTypes

/// A client's request to a gateway, checked and converted into the gateway's request to the upstream.
struct ForwardedRequest {
    /// The body that the client's head announces.
    enum Content: Equatable {
        case none
        case length(Int64)
        case chunked
        /// No announcement: over HTTP/1 the request has no body, over HTTP/2 it may have one.
        case unannounced
    }

    /// The reason why a request is not forwarded.
    struct Refusal: Error {
        let status: HTTPResponse.Status
        let reason: String
        /// True if the gateway itself has answered the request, as its final recipient.
        var isAnswered = false

        init(_ status: HTTPResponse.Status, _ reason: String, isAnswered: Bool = false) {
            self.status = status
            self.reason = reason
            self.isAnswered = isAnswered
        }
    }

    let uri: CurlewURI
    private(set) var fields = HTTPFields()
    let content: Content
    /// The protocol that the client asks for, if the rules admit it.
    private(set) var upgrade: String?

    /// - Parameters:
    ///   - head: The head as received by the server.
    ///   - target: The path and query for the upstream; nil means those of the head.
    ///   - client: The address of the client.
    ///   - isSecure: True if the request came over TLS; nil if that is unknown.
    ///   - base: The URL of the upstream.
    ///   - rules: The rules of the gateway.
    /// - Throws: ``Refusal``.
    init(
        _ head: HTTPRequest, target: String?, client: String?, isSecure: Bool? = nil, base: CurlewURI,
        rules: HTTPSession.Forwarding
    ) throws {
        guard head.method != .connect, head.method != .trace else {
            throw Refusal(.notImplemented, "the gateway does not forward \(head.method.rawValue)")
        }
        let asked = try Target(head)
        guard target != nil || asked.path != "*" else {
            throw Refusal(.noContent, "the request is about the gateway", isAnswered: true)
        }
        uri = try Target.uri(target ?? asked.path, below: base)
        content = try Self.content(of: head)
        let listed = try Self.listedFields(of: head.headerFields)
        try Self.checkLoop(head.headerFields, rules.name)
        let isTrusted = client.map { client in rules.trustedProxies.contains { $0.contains(address: client) } } ?? false
        upgrade = Self.upgrade(of: head, content, rules)
        try copy(head, without: listed, believing: isTrusted)
        let scheme = try Self.scheme(of: head)
        addClient(
            client, Client(scheme: isSecure.map { $0 ? "https" : "http" } ?? scheme, authority: asked.authority), rules)
        if rules.keepsHost, let authority = asked.authority { fields[.host] = authority }
        addVia(rules.name)
    }

    /// The scheme of a request. HTTP/2 allows any text here, and upstreams trust the fields that contain it, so only
    /// http and https are accepted.
    private static func scheme(of head: HTTPRequest) throws -> String {
        guard let scheme = head.scheme?.utf8 else { return "http" }
        if scheme.elementsEqual("http".utf8, by: { $0 | 0x20 == $1 }) { return "http" }
        if scheme.elementsEqual("https".utf8, by: { $0 | 0x20 == $1 }) { return "https" }
        throw Refusal(.badRequest, "the scheme is neither http nor https")
    }

    /// The names that Connection may not list. Without these fields the upstream would read a different request than
    /// the servers before the gateway, or lose the record of its path.
    private static let protectedNames: Set<HTTPField.Name> = [
        .host, .contentLength, .contentType, .contentEncoding, .authorization, .cookie, .expect, .maxForwards, .via,
    ]

    /// The first protocol of the client that the rules admit. A request with a body is forwarded as an ordinary
    /// request.
    private static func upgrade(
        of head: HTTPRequest, _ content: Content, _ rules: HTTPSession.Forwarding
    ) -> String? {
        guard !rules.upgrades.isEmpty, content == .unannounced || content == .length(0),
            HopFields.listed(in: head.headerFields).contains(.upgrade)
        else { return nil }
        return head.headerFields[values: .upgrade].flatMap(HopFields.words).first { name in
            let name = name.lowercased()
            return name != "h2c" && rules.upgrades.contains(name)
        }
    }

    private static func listedFields(of fields: HTTPFields) throws -> Set<HTTPField.Name> {
        guard fields.contains(.connection) else { return [] }
        let listed = HopFields.listed(in: fields)
        if let name = listed.first(where: { protectedNames.contains($0) || $0.tellsOfClient }) {
            throw Refusal(.badRequest, "Connection names \(name.rawName)")
        }
        return listed
    }

    /// The framing of the body (RFC 9112 §6). Ambiguous framing is refused.
    private static func content(of head: HTTPRequest) throws -> Content {
        let codings = head.headerFields[values: .transferEncoding].flatMap(HopFields.words)
        let lengths = head.headerFields[values: .contentLength]
        guard codings.isEmpty || lengths.isEmpty else {
            throw Refusal(.badRequest, "the request has both Transfer-Encoding and Content-Length")
        }
        if head.headerFields.contains(.transferEncoding) {
            guard codings.count == 1, codings[0].isEqual(ignoringASCIICase: "chunked") else {
                throw Refusal(.notImplemented, "the request has another transfer coding than chunked")
            }
            return try of(head.method, .chunked)
        }
        guard let first = lengths.first else { return .unannounced }
        let isNumber = !first.isEmpty && first.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard lengths.allSatisfy({ $0 == first }), isNumber, let length = Int64(first) else {
            throw Refusal(.badRequest, "Content-Length is not a number, or there are several")
        }
        return try of(head.method, .length(length))
    }

    private static func of(_ method: HTTPRequest.Method, _ content: Content) throws -> Content {
        guard method == .head, content != .length(0) else { return content }
        throw Refusal(.badRequest, "a HEAD has a body")
    }

    /// Refuses a request that has already passed this gateway, according to Via.
    private static func checkLoop(_ fields: HTTPFields, _ name: String) throws {
        for value in fields[values: .via] {
            for entry in HopFields.words(value) {
                let words = entry.utf8.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
                guard words.count > 1, words[1].lowercased().hasSameBytes(as: name.lowercased()) else { continue }
                throw Refusal(.loopDetected, "the request has passed this gateway before")
            }
        }
    }

    private mutating func copy(_ head: HTTPRequest, without listed: Set<HTTPField.Name>, believing isTrusted: Bool)
        throws
    {
        fields.reserveCapacity(head.headerFields.count + 6)
        for field in head.headerFields {
            let name = field.name
            if HopFields.names.contains(name) || listed.contains(name) { continue }
            switch name {
            // Content-Length is made from the body, and trailers of requests are not forwarded (RFC 9110 §6.5.1).
            case .contentLength, .trailer: continue
            case .host: throw Refusal(.badRequest, "there is more than one Host field")
            case .expect: try copyExpectation(field)
            case .maxForwards where head.method == .options: try copyMaxForwards(field)
            default:
                if !isTrusted, name.tellsOfClient { continue }
                if name.imitatesFraming { continue }
                fields.append(field)
            }
        }
        // The gateway's own element would otherwise become a part of an unterminated string.
        guard fields[values: .forwarded].allSatisfy({ Self.hasClosedStrings($0) }) else {
            throw Refusal(.badRequest, "a quoted string in Forwarded has no end")
        }
        let codings = head.headerFields[values: .te].flatMap(HopFields.words)
        // The transport sets Connection in an upgrade.
        if upgrade == nil, codings.contains(where: { $0.lowercased() == "trailers" }) {
            fields.append(HTTPField(name: .te, value: "trailers"))
            fields.append(HTTPField(name: .connection, value: "TE"))
        }
    }

    private mutating func copyExpectation(_ field: HTTPField) throws {
        guard field.value.lowercased() == "100-continue" else {
            throw Refusal(.expectationFailed, "the request has another expectation than 100-continue")
        }
        if content != .none, content != .length(0) { fields.append(field) }
    }

    /// Copies Max-Forwards with one hop less (RFC 9110 §7.6.2).
    private mutating func copyMaxForwards(_ field: HTTPField) throws {
        guard let hops = UInt32(field.value) else { return fields.append(field) }
        guard hops > 0 else {
            throw Refusal(.noContent, "the limit of Max-Forwards is reached", isAnswered: true)
        }
        fields.append(HTTPField(name: .maxForwards, value: String(hops - 1)))
    }

    /// The scheme and authority that the client requested.
    private struct Client {
        let scheme: String
        let authority: String?
    }

    private mutating func addClient(_ address: String?, _ client: Client, _ rules: HTTPSession.Forwarding) {
        if rules.clientFields.contains(.xForwarded) {
            if let address { extend(.forwardedFor, with: address) }
            if let authority = client.authority, !fields.contains(.forwardedHost) {
                fields[.forwardedHost] = authority
            }
            if !fields.contains(.forwardedProtocol) { fields[.forwardedProtocol] = client.scheme }
        }
        if rules.clientFields.contains(.forwarded) {
            var element = "for=\(Self.node(address))"
            // The host is quoted because the colon before a port is not allowed in a token (RFC 7239 §4). A checked
            // authority contains neither quotes nor backslashes.
            if let authority = client.authority { element += ";host=\"\(authority)\"" }
            extend(.forwarded, with: element + ";proto=\(client.scheme)")
        }
    }

    /// The form of an address in Forwarded (RFC 7239 §6).
    private static func node(_ address: String?) -> String {
        guard let address else { return "unknown" }
        return address.utf8.contains(0x3A) ? "\"[\(address)]\"" : address
    }

    /// True if every quoted string in a value is terminated (RFC 9110 §5.6.4).
    private static func hasClosedStrings(_ value: String) -> Bool {
        var isQuoted = false
        var bytes = value.utf8.makeIterator()
        while let byte = bytes.next() {
            if byte == 0x22 { isQuoted.toggle() }
            if isQuoted, byte == 0x5C { _ = bytes.next() }
        }
        return !isQuoted
    }

    private mutating func extend(_ name: HTTPField.Name, with element: String) {
        let before = fields[values: name].filter { !$0.isEmpty }
        fields[name] = (before + [element]).joined(separator: ", ")
    }

    private mutating func addVia(_ name: String) { fields.append(HTTPField(name: .via, value: "1.1 \(name)")) }
}

extension HTTPResponse.Status {
    /// The status 508 (RFC 5842 §7.2).
    static let loopDetected = HTTPResponse.Status(code: 508, reasonPhrase: "Loop Detected")
}
#endif
