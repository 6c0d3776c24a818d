internal import FoundationEssentials

/// What proves who asks. Its description holds no secret.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    enum Kind: Sendable, Hashable {
        case password(user: String, password: String)
        case token(String)
        case ticket
    }

    let kind: Kind

    /// A user's name and password, for Basic, Digest, Negotiate and NTLM.
    public static func password(user: String, password: String) -> Credential {
        Credential(kind: .password(user: user, password: password))
    }

    /// A token for Bearer (RFC 6750 §2.1).
    public static func bearer(_ token: String) -> Credential { Credential(kind: .token(token)) }

    /// The ticket of Kerberos that the process has, for Negotiate.
    public static let ticket = Credential(kind: .ticket)

    /// The schemes that it can answer, the strongest first.
    var schemes: [AuthenticationScheme] {
        switch kind {
        case .password: [.negotiate, .ntlm, .digest, .basic]
        case .token: [.bearer]
        case .ticket: [.negotiate]
        }
    }

    public var description: String {
        switch kind {
        case .password(let user, _): "password of \(user)"
        case .token: "bearer token"
        case .ticket: "ticket"
        }
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }

    /// The value of Authorization that needs nothing of a challenge; nil for schemes that do.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for what cannot be sent so.
    func value(for scheme: AuthenticationScheme) throws -> String? {
        switch (kind, scheme) {
        case (.password(let user, let password), .basic):
            try Self.check(user + password)
            guard !user.utf8.contains(.colon) else {
                throw CurlewError(.invalidRequest, "a user's name with a colon cannot be sent as Basic credentials")
            }
            return "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
        case (.token(let token), .bearer):
            let word = token.utf8.reversed().drop { $0 == .equals }
            guard !word.isEmpty, word.allSatisfy(\.isToken68Byte) else {
                throw CurlewError(.invalidRequest, "the Bearer token is not of the form that RFC 6750 asks for")
            }
            return "Bearer \(token)"
        default: return nil
        }
    }

    static func check(_ text: String) throws {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlewError(.invalidRequest, "the credentials hold a control character")
        }
    }
}

/// A credential, and where it may go.
public struct ScopedCredential: Sendable, Hashable {
    /// Scheme, host and port of the servers that may get it, as ``URI/origin`` writes them.
    public let origin: String
    /// The part of the server that it is for; nil means all of it.
    public let realm: String?
    /// The credential.
    public let credential: Credential
    /// Whether it is sent before anybody asks: Basic or Bearer with the first request already.
    public let isPreemptive: Bool

    /// - Parameters:
    ///   - origin: A URL with the scheme, host and port that it is for; the rest of the URL does not matter.
    ///   - realm: The realm that it is for; any when nil. One that is preemptive is sent unasked, whatever its realm.
    ///   - credential: The credential.
    ///   - isPreemptive: Whether it is sent before anybody asks. Digest cannot be.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidURL`` or ``ErrorCode/unsupportedScheme``.
    public init(
        _ origin: String, realm: String? = nil, _ credential: Credential, isPreemptive: Bool = false
    ) throws {
        self.init(origin: try URI(origin).origin, realm: realm, credential, isPreemptive: isPreemptive)
    }

    init(origin: String, realm: String? = nil, _ credential: Credential, isPreemptive: Bool = false) {
        self.origin = origin
        self.realm = realm
        self.credential = credential
        self.isPreemptive = isPreemptive
    }

    /// A credential for whichever proxy answers a request in absolute form with 407, and only then.
    /// ``Proxy/authenticated(user:password:by:)`` is for one proxy, for tunnels as well, and needs no 407.
    public static func proxy(realm: String? = nil, _ credential: Credential) -> ScopedCredential {
        ScopedCredential(origin: AuthenticatedExchange.proxyOrigin, realm: realm, credential)
    }
}
