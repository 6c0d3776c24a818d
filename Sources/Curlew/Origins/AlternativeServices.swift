internal import HTTPTypes

/// Connects to another host or port where an origin has said that it can be reached there, too (Alt-Svc, RFC 7838).
///
/// - The Alt-Svc fields of a response are noted if it came over TLS, from a host whose certificate was verified for its name.
/// - A later request to that origin connects to the first alternative that can be used. URI, Host field, the name in the
///   handshake and the certificate stay the origin's, so that an alternative without a certificate for the origin gets nothing.
///   The field Alt-Used names it.
/// - An alternative that cannot be connected to, or fails the handshake, is left out for five minutes, then for twice as long,
///   and so on; so is one that answers 421. The request then goes to the origin, at once: nobody has acted on it.
/// - Alternatives for HTTP/2 and HTTP/1.1 are used, others, as for HTTP/3, are not.
/// - Requests with a route of their own, through a proxy or over a Unix socket go where they would have gone, as do those with
///   a body that can be read only once, and those whose policy does not verify certificates. The same holds where the session
///   says so. ``AddressPolicy`` judges the alternative's address as any other.
///
/// An alternative at a port from 1024 on is not used for an origin at a port below, as on some machines any user may listen
/// there (RFC 7838 §9.1), unless ``allowsUnprivilegedPorts`` says so. Below 1024, only 443 and the origin's own port are.
///
/// It is written after ``StandardChain``, so that it sees each request and each response:
///
/// ```swift
/// let alternatives = AlternativeServices.Store()
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     AlternativeServices(alternatives)
/// }
/// ```
public struct AlternativeServices: CurlewMiddleware {
    /// The alternatives that are known.
    public let store: AlternativeServices.Store
    /// True if an alternative at a port from 1024 on may serve an origin at a port below. False by default.
    public var allowsUnprivilegedPorts = false

    /// - Parameter store: Where the alternatives are: a new store, unless one is to be shared, loaded or looked into.
    public init(_ store: AlternativeServices.Store = AlternativeServices.Store()) { self.store = store }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        guard request.uri.layout.isSecure else { return try await next(request) }
        let response: CurlewResponse
        if let (alternative, route) = alternative(for: request) {
            response = try await send(request, to: alternative, route, next)
        } else {
            response = try await next(request)
        }
        if response.fields.contains(Self.field), response.exchange?.isVerified == true {
            store.note(response)
        }
        return response
    }

    private func alternative(for request: CurlewRequest) -> (AlternativeServices.Store.Service, ConnectionRoute)? {
        guard store.isFilled, request.body.isReplayable, request.options.versionPolicy != .http2PriorKnowledge,
            request.isToBeVerified, let route = request.openRoute
        else { return nil }
        let takesHTTP2 = request.options.versionPolicy != .http11 && request.trailers.isEmpty
        let chosen = store.service(for: request.uri) { service in
            (takesHTTP2 || !service.isHTTP2) && allows(service.port, for: request.uri.port)
        }
        guard let chosen else { return nil }
        return (chosen, route)
    }

    private func allows(_ port: Int, for originPort: Int) -> Bool {
        if port == originPort || port == 443 { return true }
        return port >= 1024 && (originPort >= 1024 || allowsUnprivilegedPorts)
    }

    private func send(
        _ request: CurlewRequest, to service: AlternativeServices.Store.Service, _ route: ConnectionRoute,
        _ next: Next<CurlewRequest, CurlewResponse>
    ) async throws -> CurlewResponse {
        let timekeeper = Timekeeper.continuous
        let deadline = CallDeadline(request.options, timekeeper, start: timekeeper.elapsed())
        var attempt = request
        var route = route
        route.redirections = [ConnectionRoute.Redirection(toHost: service.host, toPort: service.port)]
        attempt.options.substituteRoute(route)
        if !service.isHTTP2 { attempt.options.versionPolicy = .http11 }
        attempt.fields[Self.used] = service.port == 443 ? service.host : "\(service.host):\(service.port)"
        do {
            let response = try await next(attempt)
            guard response.status == .misdirectedRequest else {
                store.succeeded(service, for: request.uri)
                return response
            }
            await response.discard()
            store.failed(service, for: request.uri)
        } catch let error as CurlewError where error.isConnectFailureOfPlace || error.code.isTrustFailure {
            guard error.stage == .connecting else { throw error }
            // What the policy of this request forbids another one may allow.
            if error.code != .addressForbidden { store.failed(service, for: request.uri) }
        }
        var again = request
        try deadline.limit(&again)
        return try await next(again)
    }

    static let field = HTTPField.Name("Alt-Svc")!
    private static let used = HTTPField.Name("Alt-Used")!
}

extension CurlewError {
    /// True if nothing was sent as the place cannot be connected to: another one may do.
    var isConnectFailureOfPlace: Bool {
        stage == .connecting && (code.isConnectFailure || code == .connectionLost || code == .addressForbidden)
    }
}

/// One alternative of an Alt-Svc field (RFC 7838 §3).
struct AlternativeServiceField: Equatable {
    /// The name of the protocol for ALPN.
    var `protocol`: String
    /// Nil is the origin's own.
    var host: String?
    var port: Int
    /// In seconds.
    var age: Int64 = 86_400
    var persists = false

    /// The content of a field.
    enum Content: Equatable {
        /// `clear`: none holds any more.
        case clear
        /// The alternatives, the best first.
        case services([AlternativeServiceField])
    }

    /// The longest value that is read.
    private static let sizeLimit = 16 << 10

    /// Reads the values of all Alt-Svc fields of a response, one after the other. What is no alternative is skipped.
    /// - Returns: nil if there is nothing in them that can be read.
    static func read(_ values: some Sequence<[UInt8]>) -> Content? {
        let bytes = Array(values.joined(separator: [UInt8.comma]))
        guard bytes.count <= sizeLimit else { return nil }
        var services: [AlternativeServiceField] = []
        for element in elements(of: bytes) where !element.isEmpty {
            if element.elementsEqual("clear".utf8) { return .clear }
            if let service = AlternativeServiceField(element) { services.append(service) }
        }
        return services.isEmpty ? nil : .services(services)
    }

    /// The parts between commas that stand in no quotes.
    private static func elements(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        var start = 0
        var isQuoted = false
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case .quote: isQuoted.toggle()
            case .backslash where isQuoted: index += 1
            case .comma where !isQuoted:
                elements.append(bytes[start..<index].trimmingBlanks)
                start = index + 1
            default: break
            }
            index += 1
        }
        elements.append(bytes[start...].trimmingBlanks)
        return elements
    }

    private init?(_ element: ArraySlice<UInt8>) {
        var scanner = ByteScanner(element)
        let name = scanner.take(while: \.isTokenByte)
        guard !name.isEmpty, scanner.take(.equals), let authority = scanner.takeQuotedString(),
            let bytes = PercentDecoding.bytes(of: name, isStrict: true),
            let text = String(validating: bytes, as: UTF8.self), let place = Self.place(authority)
        else { return nil }
        `protocol` = text
        (host, port) = place
        while !scanner.isAtEnd {
            scanner.skip(while: \.isBlank)
            guard scanner.take(.semicolon) else { return nil }
            scanner.skip(while: \.isBlank)
            let name = String(decoding: scanner.take(while: \.isTokenByte), as: UTF8.self).lowercased()
            guard !name.isEmpty, scanner.take(.equals) else { return nil }
            let value = scanner.takeQuotedString() ?? Array(scanner.take(while: \.isTokenByte))
            guard !value.isEmpty else { return nil }
            switch name {
            case "ma":
                guard let seconds = DeltaSeconds.read(value) else { return nil }
                age = seconds
            case "persist": persists = value == [UInt8(ascii: "1")]
            default: break
            }
        }
    }

    /// A host, if there is one, and a port.
    static func place(_ authority: [UInt8]) -> (host: String?, port: Int)? {
        guard let colon = authority.lastIndex(of: .colon) else { return nil }
        let digits = authority[(colon + 1)...]
        guard let port = PortNumber.read(digits) else { return nil }
        guard colon > 0 else { return (nil, Int(port)) }
        guard let host = host(String(decoding: authority[..<colon], as: UTF8.self)) else { return nil }
        return (host, Int(port))
    }

    /// A name or an address, this one in brackets if it is IPv6; nil for what is neither.
    static func host(_ text: String) -> String? {
        if let name = OriginHost.name(text) { return name }
        guard let address = IPAddress(host: text) else { return nil }
        return address.isIPv6 ? "[\(address)]" : address.description
    }
}
