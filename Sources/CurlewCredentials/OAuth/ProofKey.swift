public import Curlew

extension OAuth {
    /// A key that binds a code to the client that requested it (PKCE, RFC 7636).
    ///
    /// The challenge is sent in the request for authorization, with `code_challenge_method=S256`; the verifier is sent
    /// with the code.
    public struct ProofKey: Sendable {
        /// The secret: 43 to 128 letters, digits and `-._~`.
        public let verifier: String
        /// The verifier's SHA-256 in Base 64 for URLs.
        public let challenge: String

        /// The method of the challenge.
        public static let method = "S256"

        /// Makes a key of 32 random bytes.
        public init() throws(CurlewError) {
            var generator = SystemRandomNumberGenerator()
            try self.init(using: &generator)
        }

        init(using generator: inout some RandomNumberGenerator) throws(CurlewError) {
            try self.init(
                verifier: Base64.encodeForURL((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        }

        /// Makes a key from a verifier that was stored during the login in the browser.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for an invalid verifier.
        public init(verifier: String) throws(CurlewError) {
            guard (43...128).contains(verifier.utf8.count), verifier.utf8.allSatisfy(\.isUnreserved) else {
                throw CurlewError(.invalidRequest, "a code verifier has 43 to 128 letters, digits and -._~")
            }
            self.verifier = verifier
            challenge = Base64.encodeForURL(try Hashing.sha256(Array(verifier.utf8)))
        }
    }
}

extension OAuth.ProofKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "proof key with the challenge \(challenge)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["challenge": challenge]) }
}
