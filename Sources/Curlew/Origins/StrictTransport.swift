internal import HTTPTypes

/// Goes over to `https` where a host has asked for it (HTTP Strict Transport Security, RFC 6797).
///
/// - A request for `http` to a host that the store knows is sent by `https`, before anything has left: port 80 and none become
///   443, another port stays. Method, fields and body are kept, and ``CurlewResponse/uri`` says where the answer came from.
/// - The Strict-Transport-Security field of a response is noted if the response came over TLS, from a host whose certificate
///   was verified for its name. Where the policy takes certificates that cannot be verified, or an evaluator has the last word,
///   nothing is noted; nor from `http`, from an address, or of what a store or a stub answers. Of several fields the first
///   counts; one that does not keep to the grammar is ignored.
///
/// It belongs behind ``Redirects``, so that each hop is looked at, and around ``Retry``, ``CookieHandling`` and ``HTTPCache``,
/// which are to see `https`: ``StandardChain/Options/strictTransport`` puts it there. A redirect from `https` to `http` is
/// refused by ``Redirects`` as ever, unless that allows it; then the request goes by `https` once more.
///
/// ```swift
/// let store = StrictTransport.Store()
/// var options = StandardChain.Options()
/// options.strictTransport = StrictTransport(store)
/// let api = try HTTPSession(baseURL: "http://api.example.com/", chain: options)
/// ```
public struct StrictTransport: CurlewMiddleware {
    /// The hosts that have asked for `https`.
    public let store: StrictTransport.Store

    /// - Parameter store: Where the hosts are: a new store, unless one is to be shared, loaded or looked into.
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
    /// The seconds for which it holds.
    var age: Int64
    var includesSubdomains: Bool

    /// The longest value that is read.
    private static let sizeLimit = 4096

    /// Nil for a value that breaks the grammar, has a directive twice, or no age.
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

    /// What follows a name; nil for an equals sign that nothing follows.
    private static func argument(_ scanner: inout ByteScanner) -> Argument? {
        scanner.skip(while: \.isBlank)
        guard scanner.take(.equals) else { return Argument() }
        scanner.skip(while: \.isBlank)
        if let text = scanner.takeQuotedString() { return Argument(value: text) }
        let token = scanner.take(while: \.isTokenByte)
        return token.isEmpty ? nil : Argument(value: Array(token))
    }
}
