internal import HTTPTypes

/// A link that connects to the alternative services of an origin (Alt-Svc, RFC 7838).
///
/// - The Alt-Svc fields of a response are stored if it came over TLS, from a host with a verified certificate.
/// - A later request to that origin connects to the first usable alternative. URI, Host field, TLS server name and
///   certificate check stay the origin's, so an alternative without a certificate for the origin receives nothing. The
///   field Alt-Used names the alternative.
/// - An alternative is excluded if it cannot be connected to, fails the handshake or answers 421: for five minutes,
///   then for twice as long, and so on. The request is then sent to the origin at once, because no server has processed
///   it.
/// - Alternatives for HTTP/2 and HTTP/1.1 are used, and those for HTTP/3 at the origin's own host, if libcurl has a
///   usable HTTP/3 (``HTTPVersionPolicy/isHTTP3Available``). Others are ignored. A connection for HTTP/3 must be ready
///   within two seconds.
/// - Some requests are passed on unchanged: with their own route, through a proxy, over a Unix socket, with a body that
///   can be read only once, or with a policy that does not verify certificates. The same holds for such settings of the
///   session. ``AddressPolicy`` applies to the alternative's address too.
///
/// An alternative at a port from 1024 on is not used for an origin at a lower port, because on some machines any user
/// may listen there (RFC 7838 §9.1). ``allowsUnprivilegedPorts`` allows it. Of the ports below 1024, only 443 and the
/// origin's own port are used.
///
/// The link stands after ``StandardChain``, so that it processes each request and each response:
///
/// ```swift
/// let alternatives = AlternativeServices.Store()
/// let api = try HTTPSession(baseURL: "https://api.example.com/") {
///     StandardChain()
///     AlternativeServices(alternatives)
/// }
/// ```
public struct AlternativeServices: CurlewMiddleware {
    /// The store of the alternatives.
    public let store: AlternativeServices.Store
    /// True if an alternative at a port from 1024 on may serve an origin at a lower port. False by default.
    public var allowsUnprivilegedPorts = false

    /// - Parameter store: The store of the alternatives: a new one, unless it is to be shared, loaded or inspected.
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
        guard store.isFilled, request.body.isReplayable, request.mayUseAlternative,
            request.isToBeVerified, let route = request.openRoute
        else { return nil }
        let takesStreams = request.options.versionPolicy != .http11 && request.trailers.isEmpty
        let chosen = store.service(for: request.uri) { service in
            (takesStreams || service.kind == .http11) && allows(service.port, for: request.uri.port)
                && (service.kind != .http3 || request.mayUseHTTP3)
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
        switch service.kind {
        case .http11: attempt.options.versionPolicy = .http11
        case .http2: break
        case .http3:
            attempt.options.versionPolicy = .http3Only
            attempt.options.connectTimeout = min(attempt.options.connectTimeout ?? Self.patience, Self.patience)
        }
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
            // An address that this request's policy forbids may be allowed for another request.
            if error.code != .addressForbidden { store.failed(service, for: request.uri) }
        }
        var again = request
        try deadline.limit(&again)
        return try await next(again)
    }

    /// The longest time for a connection by HTTP/3.
    private static let patience = Duration.seconds(2)
    static let field = HTTPField.Name("Alt-Svc")!
    private static let used = HTTPField.Name("Alt-Used")!
}

extension CurlewRequest {
    /// True if the request leaves the choice of the protocol to the server.
    fileprivate var mayUseAlternative: Bool {
        let policy = options.versionPolicy ?? .negotiated
        return policy == .negotiated || policy == .http11
    }

    /// True if HTTP/3 can carry the request.
    fileprivate var mayUseHTTP3: Bool {
        let security = options.security ?? (connectionDefaults as? ConnectionDefaults)?.security
        return HTTPVersionPolicy.isHTTP3Available && trailers.isEmpty && options.upgradeProtocol == nil
            && options.engineCredential == nil && security?.allowsHTTP3(to: uri.host) ?? true
    }
}

extension CurlewError {
    /// True if nothing was sent because the address cannot be connected to, so another address may succeed.
    var isConnectFailureOfPlace: Bool {
        stage == .connecting && (code.isConnectFailure || code == .connectionLost || code == .addressForbidden)
    }
}

/// An alternative in an Alt-Svc field (RFC 7838 §3).
struct AlternativeServiceField: Equatable {
    /// The ALPN name of the protocol.
    var `protocol`: String
    /// The host; nil means the origin's own.
    var host: String?
    var port: Int
    /// The lifetime in seconds.
    var age: Int64 = 86_400
    var persists = false

    /// The content of a field.
    enum Content: Equatable {
        /// `clear`: all alternatives are invalid.
        case clear
        /// The alternatives, the best first.
        case services([AlternativeServiceField])
    }

    /// The most bytes of the values that are parsed.
    private static let sizeLimit = 16 << 10

    /// Parses the values of all Alt-Svc fields of a response. Invalid alternatives are skipped.
    /// - Returns: nil without any readable content.
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

    /// The parts between commas outside quotes.
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

    /// The host, if there is one, and the port.
    static func place(_ authority: [UInt8]) -> (host: String?, port: Int)? {
        guard let colon = authority.lastIndex(of: .colon) else { return nil }
        let digits = authority[(colon + 1)...]
        guard let port = PortNumber.read(digits) else { return nil }
        guard colon > 0 else { return (nil, Int(port)) }
        guard let host = host(String(decoding: authority[..<colon], as: UTF8.self)) else { return nil }
        return (host, Int(port))
    }

    /// A host name or an address, with brackets for IPv6; nil for invalid text.
    static func host(_ text: String) -> String? {
        if let name = OriginHost.name(text) { return name }
        guard let address = IPAddress(host: text) else { return nil }
        return address.isIPv6 ? "[\(address)]" : address.description
    }
}
