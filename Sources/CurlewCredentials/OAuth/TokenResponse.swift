internal import Curlew
internal import FoundationEssentials

extension OAuth {
    /// The JSON of a successful response of a token endpoint (RFC 6749 §5.1).
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
        /// With a lifetime of zero or less the token expires immediately: it only serves the requests that already wait
        /// for it.
        /// - Parameters:
        ///   - request: The request that the server has answered.
        ///   - moment: The time when the request was sent, from which the lifetime of the token counts.
        /// - Throws: ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidToken`` for a response without a token, for
        ///   a token of a type other than Bearer, and for an exchange that returned a token of a type other than the
        ///   requested one.
        func token(for request: Request, requestedAt moment: Date) throws(CurlewError) -> Token {
            guard let accessToken else {
                throw CurlewError(.invalidToken, "the token endpoint gave no access token")
            }
            let isBearer = tokenType?.hasSameBytes(ignoringASCIICaseOf: "bearer") == true
            // The type `N_A` is for tokens that are not access tokens (RFC 8693 §2.2.1).
            let isOther = request.isExchange && tokenType?.hasSameBytes(ignoringASCIICaseOf: "N_A") == true
            guard isBearer || isOther else {
                let type = tokenType.map { PeerText.escaped($0, limit: 40) } ?? "none"
                throw CurlewError(
                    .invalidToken, "the token endpoint gave a token of another type than Bearer: \(type)")
            }
            if request.isExchange {
                guard let issuedType, !issuedType.isEmpty else {
                    throw CurlewError(.invalidToken, "the token endpoint did not declare the type of the token")
                }
                guard request.requestedType?.hasSameBytes(as: issuedType) ?? true else {
                    throw CurlewError(
                        .invalidToken, "the token endpoint gave a token of a type that was not requested")
                }
            }
            return try Token(
                accessToken: accessToken, refreshToken: refreshToken,
                expiration: lifetime.map { moment.addingTimeInterval(Double($0.seconds)) },
                scopes: Self.scopes(scope) ?? Self.scopes(request.scope), issuedType: issuedType, isBearer: isBearer)
        }

        private static func scopes(_ text: String?) -> [String]? {
            text.map { $0.utf8.split(separator: .space).map { String(decoding: $0, as: UTF8.self) } }
        }
    }

    /// A number of seconds, which peers send as a number or, against the rules, as a string of digits.
    struct Lifetime: Decodable, Hashable {
        /// The seconds, from zero to a hundred years.
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

extension OAuth.TokenResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "answer of a token endpoint" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
