public import Curlew
public import FoundationEssentials

extension OAuth {
    /// An access token that is sent as Bearer (RFC 6750), with the other values of its response; or a token of another
    /// type from an exchange.
    ///
    /// Descriptions contain no tokens. The value can be encoded for a store; the encoded form is secret.
    public struct Token: Sendable, Hashable, Codable {
        /// The token in requests: printable ASCII without spaces, at most 64 KiB.
        public let accessToken: String
        /// The token for requesting a new access token; nil without one.
        public let refreshToken: String?
        /// The time at which the access token expires, by this machine's clock; nil if the server has not stated it.
        public let expiration: Date?
        /// The granted scopes, or the requested scopes if the server has named none; nil without either.
        public let scopes: [String]?
        /// The type of a token from an exchange.
        public let issuedType: String?
        /// True if requests may contain the token as Bearer. False for a token from an exchange that is not an access
        /// token.
        public let isBearer: Bool

        /// - Parameters:
        ///   - accessToken: The token in requests.
        ///   - refreshToken: The token for requesting a new access token.
        ///   - expiration: The time at which the access token expires, by this machine's clock.
        ///   - scopes: The granted scopes, if they differ from the requested scopes.
        ///   - issuedType: The type of a token from an exchange.
        ///   - isBearer: True if requests may contain the token as Bearer.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidToken`` for a token that is not allowed in a
        ///   field.
        public init(
            accessToken: String, refreshToken: String? = nil, expiration: Date? = nil, scopes: [String]? = nil,
            issuedType: String? = nil, isBearer: Bool = true
        ) throws(CurlewError) {
            guard accessToken.isVisibleASCII, accessToken.utf8.count <= Self.sizeLimit else {
                throw CurlewError(
                    .invalidToken, "an access token is empty, too long, or has a character that no token has")
            }
            guard refreshToken.map({ $0.isPrintableASCII && $0.utf8.count <= Self.sizeLimit }) ?? true else {
                throw CurlewError(
                    .invalidToken, "a refresh token is too long, or has a character that no token has")
            }
            self.accessToken = accessToken
            self.refreshToken = refreshToken.flatMap { $0.isEmpty ? nil : $0 }
            self.expiration = expiration
            self.scopes = scopes
            self.issuedType = issuedType
            self.isBearer = isBearer
        }

        /// The largest size of a token: 64 KiB.
        static let sizeLimit = 64 << 10

        private enum CodingKeys: String, CodingKey {
            case accessToken, refreshToken, expiration, scopes, issuedType, isBearer
        }

        /// Decodes a token from a store.
        /// - Throws: `DecodingError`, or the errors of the other initializer.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            try self.init(
                accessToken: container.decode(String.self, forKey: .accessToken),
                refreshToken: container.decodeIfPresent(String.self, forKey: .refreshToken),
                expiration: container.decodeIfPresent(Date.self, forKey: .expiration),
                scopes: container.decodeIfPresent([String].self, forKey: .scopes),
                issuedType: container.decodeIfPresent(String.self, forKey: .issuedType),
                isBearer: container.decodeIfPresent(Bool.self, forKey: .isBearer) ?? true)
        }

        /// True if the token has expired at a moment.
        public func isExpired(at moment: Date) -> Bool { expiration.map { $0 <= moment } ?? false }

        /// The same token with the refresh token and the scopes of the previous token, where the server has sent no new
        /// ones (RFC 6749 §6).
        func continuing(_ previous: Token) throws(CurlewError) -> Token {
            try Token(
                accessToken: accessToken, refreshToken: refreshToken ?? previous.refreshToken, expiration: expiration,
                scopes: scopes ?? previous.scopes, issuedType: issuedType, isBearer: isBearer)
        }
    }
}

extension OAuth.Token: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        let refresh = refreshToken == nil ? "" : " with refresh token"
        return "Bearer token of \(accessToken.utf8.count) bytes\(refresh)"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror {
        Mirror(self, children: ["expiration": expiration as Any, "scopes": scopes as Any])
    }
}
