public import Curlew
public import FoundationEssentials

extension OAuth {
    /// An access token that is sent as Bearer (RFC 6750), with the rest of the answer that brought it; or the token of
    /// another type that an exchange has brought.
    ///
    /// Tokens are in no description. The value can be encoded, for a store that keeps it; what is encoded is secret.
    public struct Token: Sendable, Hashable, Codable {
        /// The token that requests carry: printable ASCII without spaces, at most 64 KiB.
        public let accessToken: String
        /// The token by which a new one is had; nil if there is none.
        public let refreshToken: String?
        /// The end of the access token by this machine's clock; nil if the server has not given one.
        public let expiration: Date?
        /// The scopes that the server has granted, or those that were asked for if it has named none; nil if neither did.
        public let scopes: [String]?
        /// The type of the token that an exchange has brought.
        public let issuedType: String?
        /// True if requests may carry the token as Bearer. False for the token of an exchange that is no access token.
        public let isBearer: Bool

        /// - Parameters:
        ///   - accessToken: The token that requests carry.
        ///   - refreshToken: The token by which a new one is had.
        ///   - expiration: The end of the access token by this machine's clock.
        ///   - scopes: The scopes that were granted, if they are not those that were asked for.
        ///   - issuedType: The type of a token that an exchange has brought.
        ///   - isBearer: True if requests may carry the token as Bearer.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidToken`` for a token that no field may
        ///   carry.
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

        /// The most bytes of a token: 64 KiB.
        static let sizeLimit = 64 << 10

        private enum CodingKeys: String, CodingKey {
            case accessToken, refreshToken, expiration, scopes, issuedType, isBearer
        }

        /// Reads what a store has kept.
        /// - Throws: `DecodingError`, or ``Curlew/CurlewError`` as the other initializer.
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

        /// True if the token ends at a moment or before.
        public func isExpired(at moment: Date) -> Bool { expiration.map { $0 <= moment } ?? false }

        /// The same token with the refresh token and the scopes of the one before it, each where the server has given no
        /// other (RFC 6749 §6).
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
