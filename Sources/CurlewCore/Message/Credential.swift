internal import FoundationEssentials

/// Proof of the client's identity. Its description contains no secret.
public struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    enum Kind: Sendable, Hashable {
        case password(user: String, password: String)
        case token(String)
        case ticket

        static func == (one: Kind, other: Kind) -> Bool {
            switch (one, other) {
            case (.password(let user, let password), .password(let otherUser, let otherPassword)):
                user.hasSameBytes(as: otherUser) && password.hasSameBytes(as: otherPassword)
            case (.token(let token), .token(let otherToken)): token.hasSameBytes(as: otherToken)
            case (.ticket, .ticket): true
            default: false
            }
        }

        func hash(into hasher: inout Hasher) {
            switch self {
            case .password(let user, let password):
                user.hashBytes(into: &hasher)
                password.hashBytes(into: &hasher)
            case .token(let token): token.hashBytes(into: &hasher)
            case .ticket: break
            }
        }
    }

    let kind: Kind

    /// A user's name and password, for Basic, Digest, Negotiate and NTLM.
    public static func password(user: String, password: String) -> Credential {
        Credential(kind: .password(user: user, password: password))
    }

    /// A token for Bearer (RFC 6750 §2.1).
    public static func bearer(_ token: String) -> Credential { Credential(kind: .token(token)) }

    /// The Kerberos ticket of the process, for Negotiate.
    public static let ticket = Credential(kind: .ticket)

    /// The schemes that the credential can answer, the strongest first.
    var schemes: [Credential.Scheme] {
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

    /// The value of Authorization for a scheme without a challenge; nil for the other schemes.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for text that the scheme cannot send.
    package func value(for scheme: Credential.Scheme) throws(CurlewError) -> String? {
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

    /// The value of Authorization that needs no challenge: Bearer for a token, Basic for a password.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidRequest`` for a ticket, and for text that cannot be sent.
    var preemptiveValue: String {
        get throws(CurlewError) {
            let made: String?
            switch kind {
            case .password: made = try value(for: .basic)
            case .token: made = try value(for: .bearer)
            case .ticket: made = nil
            }
            guard let made else {
                throw CurlewError(
                    .invalidRequest, "a ticket answers challenges: it belongs into ChallengeAuthentication")
            }
            return made
        }
    }

    static func check(_ text: String) throws(CurlewError) {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlewError(.invalidRequest, "the credentials hold a control character")
        }
    }
}

extension Credential {
    /// An authentication scheme, by its name in challenges (RFC 9110 §11.1), compared without regard to case.
    public struct Scheme: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The name, in lower case.
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue.lowercased() }

        public var description: String { rawValue }

        /// User and password in every request, readable by any observer of the request (RFC 7617).
        public static let basic = Credential.Scheme(rawValue: "basic")
        /// A token (RFC 6750).
        public static let bearer = Credential.Scheme(rawValue: "bearer")
        /// A digest over password, nonce and request (RFC 7616).
        public static let digest = Credential.Scheme(rawValue: "digest")
        /// A Kerberos ticket (RFC 4559).
        public static let negotiate = Credential.Scheme(rawValue: "negotiate")
        /// Microsoft's challenge and response, which authenticates the connection.
        public static let ntlm = Credential.Scheme(rawValue: "ntlm")
    }
}

/// A credential for a scheme of several steps that the engine performs by itself. It is limited to one origin, in case
/// a link sends the request elsewhere.
package struct EngineCredential: Sendable {
    let credential: Credential
    let scheme: Credential.Scheme
    let origin: String
}
