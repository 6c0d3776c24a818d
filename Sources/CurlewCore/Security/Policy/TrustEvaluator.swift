extension SecurityPolicy {
    /// Your own code that makes the final decision about a server.
    ///
    /// It is called during the handshake, on the session's event loop, for every new connection. It must be quick and
    /// must not block, as all other exchanges of the loop wait for it. It is not called after a local failure, such as
    /// a lack of memory: that refuses the server. A server that it accepts is accepted whatever the policy decides,
    /// except that a required stapled response must be good.
    ///
    /// ```swift
    /// policy.evaluator = SecurityPolicy.Evaluator { trust in
    ///     trust.host.hasSuffix(".test.example") ? .accept : .deferToPolicy
    /// }
    /// ```
    public struct Evaluator: Sendable {
        /// The decision of an evaluator on a server.
        public enum Decision: Sendable {
            /// Accept the server.
            case accept
            /// Refuse the server. The request fails with this error if it is a ``CurlewError``; otherwise with
            /// ``ErrorCode/untrustedCertificate`` and this error as its underlying error.
            case refuse(any Error)
            /// Follow the policy (``SecurityPolicy/ServerTrust/verdict``).
            case deferToPolicy
        }

        let evaluate: @Sendable (SecurityPolicy.ServerTrust) -> Decision
        private let identity: Identity

        /// The identity of an evaluator. Two evaluators are equal if they are copies of the same one: connections of
        /// different evaluators are never shared.
        private final class Identity: Sendable {}

        public init(_ evaluate: @escaping @Sendable (SecurityPolicy.ServerTrust) -> Decision) {
            self.evaluate = evaluate
            identity = Identity()
        }
    }
}

extension SecurityPolicy.Evaluator: Hashable {
    public static func == (first: SecurityPolicy.Evaluator, second: SecurityPolicy.Evaluator) -> Bool {
        first.identity === second.identity
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}

/// A policy with an evaluator cannot be encoded or decoded. Without its evaluator it would trust other servers.
extension SecurityPolicy.Evaluator: Codable {
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(codingPath: decoder.codingPath, debugDescription: "an evaluator cannot be decoded"))
    }

    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self, .init(codingPath: encoder.codingPath, debugDescription: "an evaluator cannot be encoded"))
    }
}

extension SecurityPolicy {
    /// The certificates of a server in its handshake, and the verdict of the policy.
    public struct ServerTrust: Sendable, Hashable {
        /// The verdict of a policy on a server.
        public enum Verdict: Sendable, Hashable {
            /// The server is accepted, with the matching pin if keys or certificates are pinned.
            case accepted(matchedPin: SecurityPolicy.Pin?)
            /// The server is refused, for this reason.
            case refused(ErrorCode, reason: String)
        }

        /// The host of the request, in the form of certificates: lower case, without brackets.
        public let host: String
        /// The path from the server's certificate, which is first, towards an anchor. For a refused server the path may
        /// end anywhere; only the names of its certificates are known to match.
        public let chain: [CurlewCertificate]
        /// The verdict of the policy, without an evaluator.
        public let verdict: Verdict
    }
}

extension CurlewError.Context {
    private enum ServerTrustKey: CurlewError.Key { typealias Value = SecurityPolicy.ServerTrust }

    /// The certificates and the verdict of a refused server.
    var serverTrust: SecurityPolicy.ServerTrust? {
        get { self[ServerTrustKey.self] }
        set { self[ServerTrustKey.self] = newValue }
    }
}

extension CurlewError {
    /// The host, chain and verdict of the handshake, if the server was refused.
    public var serverTrust: SecurityPolicy.ServerTrust? { context.serverTrust }
}
