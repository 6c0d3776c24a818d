extension SecurityPolicy {
    /// Code of your own that has the last word on a server.
    ///
    /// It is called in the handshake, on the session's event loop, for every connection that is made: it must not block, and
    /// it must be quick, for all other exchanges of the loop wait for it. It is not called for what failed on our side, such as
    /// a lack of memory: that refuses. What it accepts is accepted whatever the policy says, but for a stapled response that
    /// the policy requires.
    ///
    /// ```swift
    /// policy.evaluator = SecurityPolicy.Evaluator { trust in
    ///     trust.host.hasSuffix(".test.example") ? .accept : .deferToPolicy
    /// }
    /// ```
    public struct Evaluator: Sendable {
        /// The decision of an evaluator on a server.
        public enum Decision: Sendable {
            /// Speak to it.
            case accept
            /// Do not. The request fails with this error if it is a ``CurlewError``, else with
            /// ``ErrorCode/untrustedCertificate`` and this error beneath.
            case refuse(any Error)
            /// Do what the policy says (``SecurityPolicy/ServerTrust/verdict``).
            case deferToPolicy
        }

        let evaluate: @Sendable (SecurityPolicy.ServerTrust) -> Decision
        private let identity: Identity

        /// Two evaluators are equal if they are copies of one: a connection made under another is never used.
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

/// Code cannot be stored. A policy that lost its evaluator would trust others than it did, so both are errors.
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
    /// The certificates that a server showed in its handshake, and the verdict of the policy.
    public struct ServerTrust: Sendable, Hashable {
        /// The verdict of a policy on a server.
        public enum Verdict: Sendable, Hashable {
            /// The server is who it has to be; with the pin that matched, if keys or certificates are pinned.
            case accepted(matchedPin: SecurityPolicy.Pin?)
            /// The server is refused, for this reason.
            case refused(ErrorCode, reason: String)
        }

        /// The host that the request is for, as certificates name it: lower case, without brackets.
        public let host: String
        /// The path that was found from the server's certificate, which comes first, towards an anchor. If the verdict is no
        /// acceptance it may end anywhere, and no more is known of it than that the names fit together.
        public let chain: [CurlewCertificate]
        /// The verdict of the policy, without an evaluator.
        public let verdict: Verdict
    }
}

extension CurlewError.Context {
    private enum ServerTrustKey: CurlewError.Key { typealias Value = SecurityPolicy.ServerTrust }

    /// The trust of the server that was refused.
    var serverTrust: SecurityPolicy.ServerTrust? {
        get { self[ServerTrustKey.self] }
        set { self[ServerTrustKey.self] = newValue }
    }
}

extension CurlewError {
    /// The host, chain and verdict of the handshake, if that is why the request failed.
    public var serverTrust: SecurityPolicy.ServerTrust? { context.serverTrust }
}
