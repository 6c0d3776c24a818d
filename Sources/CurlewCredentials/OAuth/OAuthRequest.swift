public import Curlew

extension OAuth {
    /// A request to an authorization server: its parameters without those of the client's authentication.
    ///
    /// Descriptions contain no values.
    public struct Request: Sendable {
        /// The kind of request in one word: `client_credentials`.
        let kind: String
        /// The names and values in the order of sending.
        private(set) var parameters: [(name: String, value: String)]

        /// The values of ``adding(_:_:)``, any of which may be secret.
        private var added: [String] = []

        private init(_ kind: String, _ parameters: [(name: String, value: String?)]) {
            self.kind = kind
            self.parameters = parameters.compactMap { name, value in value.map { (name, $0) } }
        }

        /// The same request with one more parameter, such as `audience`, which some servers accept.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for a parameter of the request or
        ///   of the client's authentication: the server refuses a request that contains a parameter twice (RFC 6749
        ///   §3.2). `resource` and `audience` may occur several times.
        public func adding(_ name: String, _ value: String) throws(CurlewError) -> Request {
            let mayRepeat = ["resource", "audience"].contains { $0.hasSameBytes(as: name) }
            let isTaken = (Self.reservedNames + parameters.map(\.name)).contains { $0.hasSameBytes(as: name) }
            guard !name.isEmpty, mayRepeat || !isTaken else {
                throw CurlewError(.invalidRequest, "a parameter of an OAuth request is empty, or is there already")
            }
            var request = self
            request.parameters.append((name, value))
            request.added.append(value)
            return request
        }

        private static let reservedNames = [
            "grant_type", "scope", "client_id", "client_secret", "client_assertion", "client_assertion_type",
        ]

        private func value(of name: String) -> String? { parameters.first { $0.name == name }?.value }

        /// The requested scopes, separated by spaces.
        var scope: String? { value(of: "scope") }
        /// The requested type of token of an exchange.
        var requestedType: String? { value(of: "requested_token_type") }
        /// True for an exchange of tokens.
        var isExchange: Bool { kind == "token exchange" }

        /// A request for a token for the client itself (RFC 6749 §4.4).
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidRequest`` for an invalid scope.
        public static func clientCredentials(scopes: [String] = []) throws(CurlewError) -> Request {
            Request(
                "client_credentials",
                [("grant_type", "client_credentials"), ("scope", try scopeText(scopes))])
        }

        /// A request for a new token by a refresh token (RFC 6749 §6).
        /// - Parameters:
        ///   - token: The refresh token.
        ///   - scopes: A part of the token's scopes; an empty list keeps all.
        /// - Throws: The errors of ``clientCredentials(scopes:)``.
        public static func refresh(_ token: String, scopes: [String] = []) throws(CurlewError) -> Request {
            Request(
                "refresh_token",
                [("grant_type", "refresh_token"), ("refresh_token", token), ("scope", try scopeText(scopes))])
        }

        /// A request for a token by the code from a user's browser (RFC 6749 §4.1.3, RFC 7636 §4.5).
        /// - Parameters:
        ///   - code: The code.
        ///   - redirectURI: The URI to which the browser returned, exactly as in the request for authorization.
        ///   - proofKey: The key whose challenge was in the request for authorization.
        public static func authorizationCode(_ code: String, redirectURI: String?, proofKey: ProofKey) -> Request {
            Request(
                "authorization_code",
                [
                    ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
                    ("code_verifier", proofKey.verifier),
                ])
        }

        /// A request for the codes with which a user allows a device without a browser (RFC 8628 §3.1).
        /// - Throws: The errors of ``clientCredentials(scopes:)``.
        public static func deviceAuthorization(scopes: [String] = []) throws(CurlewError) -> Request {
            Request("device authorization", [("scope", try scopeText(scopes))])
        }

        /// A request for the token of a device that a user has allowed (RFC 8628 §3.4).
        static func deviceToken(_ authorization: DeviceAuthorization) -> Request {
            Request(
                "device_code",
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                    ("device_code", authorization.deviceCode),
                ])
        }

        /// A request that exchanges a token for another token (RFC 8693 §2.1).
        /// - Parameters:
        ///   - subject: The token of the party that the new token is for.
        ///   - actor: The token of the party that acts for it.
        ///   - resources: Absolute URIs of the services that the new token is for.
        ///   - audiences: Names of the services that the new token is for.
        ///   - scopes: The scopes of the new token.
        ///   - requestedType: The type of the new token.
        /// - Throws: The errors of ``clientCredentials(scopes:)``.
        public static func exchange(
            _ subject: TypedToken, actor: TypedToken? = nil, resources: [String] = [], audiences: [String] = [],
            scopes: [String] = [], requestedType: TokenType? = nil
        ) throws(CurlewError) -> Request {
            Request(
                "token exchange",
                [("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")]
                    + resources.map { ("resource", $0) } + audiences.map { ("audience", $0) }
                    + [
                        ("scope", try scopeText(scopes)), ("requested_token_type", requestedType?.identifier),
                        ("subject_token", subject.token), ("subject_token_type", subject.type.identifier),
                        ("actor_token", actor?.token), ("actor_token_type", actor?.type.identifier),
                    ])
        }

        /// A request to revoke a token (RFC 7009 §2.1).
        /// - Parameters:
        ///   - token: An access token or a refresh token.
        ///   - hint: The type of the token, which helps the server to find it: `access_token` or `refresh_token`.
        public static func revocation(of token: String, hint: String? = nil) -> Request {
            Request("revocation", [("token", token), ("token_type_hint", hint)])
        }

        /// The secret values, which a response of the server could repeat.
        var secrets: [String] {
            let names = [
                "refresh_token", "code", "code_verifier", "device_code", "subject_token", "actor_token", "token",
            ]
            return parameters.filter { names.contains($0.name) }.map(\.value) + added
        }
    }

    /// The type of a token in an exchange, by its URI (RFC 8693 §3).
    public struct TokenType: Sendable, Hashable {
        /// The URI.
        public let identifier: String

        /// - Parameter identifier: The URI, from the RFC or from the server.
        public init(_ identifier: String) { self.identifier = identifier }

        /// An access token.
        public static let accessToken = TokenType("urn:ietf:params:oauth:token-type:access_token")
        /// A refresh token.
        public static let refreshToken = TokenType("urn:ietf:params:oauth:token-type:refresh_token")
        /// An ID token of OpenID Connect.
        public static let idToken = TokenType("urn:ietf:params:oauth:token-type:id_token")
        /// A JSON Web Token (RFC 7519).
        public static let jwt = TokenType("urn:ietf:params:oauth:token-type:jwt")
        /// An assertion of SAML 2.0 in Base 64 for URLs.
        public static let saml2 = TokenType("urn:ietf:params:oauth:token-type:saml2")
    }

    /// A token with its type, for an exchange.
    public struct TypedToken: Sendable {
        /// The token.
        public let token: String
        /// Its type.
        public let type: TokenType

        /// - Parameters:
        ///   - token: The token.
        ///   - type: Its type; an access token by default.
        public init(_ token: String, type: TokenType = .accessToken) {
            self.token = token
            self.type = type
        }
    }
}

extension OAuth.Request: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "OAuth request: \(kind)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind]) }
}

extension OAuth.TypedToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "token of the type \(type.identifier)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["type": type.identifier]) }
}
