internal import FoundationEssentials

extension OAuth {
    /// A successful answer of a token endpoint as it is in JSON (RFC 6749 §5.1).
    struct TokenResponse: Decodable {
        private let accessToken: String?
        private let tokenType: String?
        private let lifetime: Lifetime?
        private let refreshToken: String?
        private let scope: String?
        private let issuedType: String?

        private enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case tokenType = "token_type"
            case lifetime = "expires_in"
            case refreshToken = "refresh_token"
            case scope
            case issuedType = "issued_token_type"
        }

        /// The token.
        ///
        /// A lifetime of zero or below ends the token at once: it serves the requests that wait for it, and no later
        /// ones.
        /// - Parameter moment: The time when the request for the token was sent, from which its lifetime counts.
        /// - Throws: ``CredentialsError`` with ``CredentialsError/Code/invalidResponse`` for an answer without a token,
        ///   and for a token of another type than Bearer.
        func token(requestedAt moment: Date) throws(CredentialsError) -> Token {
            guard let accessToken else {
                throw CredentialsError(.invalidResponse, "the token endpoint gave no access token")
            }
            guard let tokenType, tokenType.hasSameBytes(ignoringASCIICaseOf: "bearer") else {
                let type = tokenType.map { PeerText.escaped($0, limit: 40) } ?? "none"
                throw CredentialsError(
                    .invalidResponse, "the token endpoint gave a token of another type than Bearer: \(type)")
            }
            return try Token(
                accessToken: accessToken, refreshToken: refreshToken,
                expiration: lifetime.map { moment.addingTimeInterval(Double($0.seconds)) },
                scopes: scope.map { $0.utf8.split(separator: .space).map { String(decoding: $0, as: UTF8.self) } },
                issuedType: issuedType)
        }
    }

    /// A number of seconds that a peer has written as a number or, against the rules, as a string of digits.
    struct Lifetime: Decodable, Hashable {
        /// From zero to a hundred years.
        let seconds: Int64

        static let longest: Int64 = 100 * 366 * 86_400

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int64.self) {
                seconds = min(max(number, 0), Self.longest)
            } else if let number = try? container.decode(Double.self), !number.isNaN {
                seconds = Int64(min(max(number, 0), Double(Self.longest)).rounded(.down))
            } else {
                let text = try container.decode(String.self)
                let digits = text.utf8.drop { $0 == .minus }
                guard !digits.isEmpty, digits.allSatisfy(\.isDigit), text.utf8.count - digits.count <= 1 else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "no number of seconds")
                }
                seconds = min(max(Int64(text) ?? (text.utf8.first == .minus ? 0 : .max), 0), Self.longest)
            }
        }
    }
}
