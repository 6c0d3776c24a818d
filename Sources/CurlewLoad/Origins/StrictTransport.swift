internal import HTTPTypes

/// A link that uses `https` for hosts that require it (HTTP Strict Transport Security, RFC 6797).
///
/// - A request for `http` to a host in the store is sent by `https` instead: port 80, or none, becomes 443; another
///   port stays. Method, fields and body are kept. ``CurlewResponse/uri`` is the new URI.
/// - The Strict-Transport-Security field of a response is stored if the response came over TLS, from a host with a
///   verified certificate. The field is ignored if the policy accepts unverified certificates, or if an evaluator
///   decides. It is also ignored over `http`, from an address, and in a response of a cache or a stub. Of several
///   fields the first counts; a malformed field is ignored.
///
/// The link belongs behind ``Redirects``, so that it processes each hop, and before ``Retry``, ``CookieHandling`` and
/// ``HTTPCache``, so that they process `https`. ``StandardChain/Options/strictTransport`` puts it there. ``Redirects``
/// still refuses a redirect from `https` to `http`, unless its policy allows it; the request is then sent by `https`
/// again.
///
/// ```swift
/// let store = StrictTransport.Store()
/// var options = StandardChain.Options()
/// options.strictTransport = StrictTransport(store)
/// let api = try HTTPSession(baseURL: "http://api.example.com/", chain: options)
/// ```
public struct StrictTransport: CurlewMiddleware {
    /// The hosts that require `https`.
    public let store: StrictTransport.Store

    /// - Parameter store: The store of the hosts: a new one, unless it is to be shared, loaded or inspected.
    public init(_ store: StrictTransport.Store = StrictTransport.Store()) { self.store = store }

    public func intercept(_ request: CurlewRequest, next: Next<CurlewRequest, CurlewResponse>) async throws
        -> CurlewResponse
    {
        let response: CurlewResponse
        if !request.uri.layout.isSecure, store.requiresHTTPS(request.uri) {
            var request = request
            request.upgrade()
            response = try await next(request)
        } else {
            response = try await next(request)
        }
        if let field = response.fields.first(where: { $0.name == .strictTransportSecurity }),
            response.exchange?.isVerified == true
        {
            store.note(field.withUnsafeBytesOfValue { Array($0) }, from: response.uri)
        }
        return response
    }
}

/// The value of a Strict-Transport-Security field (RFC 6797 §6.1).
struct StrictTransportField: Equatable {
    /// The lifetime in seconds.
    var age: Int64
    var includesSubdomains: Bool

    /// The most bytes of a value that is parsed.
    private static let sizeLimit = 4096

    /// Nil for a malformed value, a repeated directive, or a value without an age.
    init?(_ value: [UInt8]) {
        guard value.count <= Self.sizeLimit else { return nil }
        var scanner = ByteScanner(value)
        var age: Int64?
        var includesSubdomains = false
        var names: Set<String> = []
        while !scanner.isAtEnd {
            scanner.skip(while: \.isBlank)
            let name = String(decoding: scanner.take(while: \.isTokenByte), as: UTF8.self).lowercased()
            if !name.isEmpty {
                guard names.insert(name).inserted else { return nil }
                guard let argument = Self.argument(&scanner) else { return nil }
                switch name {
                case "max-age":
                    guard let text = argument.value, let seconds = DeltaSeconds.read(text) else { return nil }
                    age = seconds
                case "includesubdomains":
                    guard argument.value == nil else { return nil }
                    includesSubdomains = true
                default: break
                }
            }
            scanner.skip(while: \.isBlank)
            guard scanner.isAtEnd || scanner.take(.semicolon) else { return nil }
        }
        guard let age else { return nil }
        self.age = age
        self.includesSubdomains = includesSubdomains
    }

    private struct Argument {
        var value: [UInt8]?
    }

    /// The argument of a directive; nil for an equals sign without a value.
    private static func argument(_ scanner: inout ByteScanner) -> Argument? {
        scanner.skip(while: \.isBlank)
        guard scanner.take(.equals) else { return Argument() }
        scanner.skip(while: \.isBlank)
        if let text = scanner.takeQuotedString() { return Argument(value: text) }
        let token = scanner.take(while: \.isTokenByte)
        return token.isEmpty ? nil : Argument(value: Array(token))
    }
}
