internal import Curlew

extension OAuth {
    /// The refusal of an authorization server (RFC 6749 §5.2).
    public struct Failure: Error, Sendable, Hashable {
        /// The kind of refusal.
        public let code: Code
        /// The server's explanation, with control characters escaped, of at most 1024 characters.
        public let explanation: String?
        /// The address of a page about the error, if it is a URI of http or https.
        public let page: String?

        init(code: Code, explanation: String? = nil, page: String? = nil) {
            self.code = code
            self.explanation = explanation
            self.page = page
        }
    }
}

extension OAuth.Failure: CustomStringConvertible {
    public var description: String {
        "the authorization server refused: \(code)\(explanation.map { " (\($0))" } ?? "")"
    }
}

extension OAuth.Failure {
    /// The kind of a refusal by its name in the registry of OAuth. Servers may have their own.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name that the server has sent: printable ASCII without quote and backslash.
        public let name: String

        init(_ name: String) { self.name = name }

        /// A request that lacks a parameter, or has one twice.
        public static let invalidRequest = Code("invalid_request")
        /// An unknown client, or a client that could not be authenticated.
        public static let invalidClient = Code("invalid_client")
        /// A refresh token, a code or an assertion that is wrong, used or revoked: the user must log in again.
        public static let invalidGrant = Code("invalid_grant")
        /// A client that may not make requests of this kind.
        public static let unauthorizedClient = Code("unauthorized_client")
        /// A kind of request that the server does not know.
        public static let unsupportedGrantType = Code("unsupported_grant_type")
        /// An unknown scope, or a larger scope than granted before.
        public static let invalidScope = Code("invalid_scope")
        /// A service for which the server issues no token (RFC 8693 §2.2.2).
        public static let invalidTarget = Code("invalid_target")
        /// A refusal of the device by its user (RFC 8628 §3.5).
        public static let accessDenied = Code("access_denied")
        /// An expired code of a device, which no user has allowed in time (RFC 8628 §3.5).
        public static let expiredToken = Code("expired_token")
        /// A failure of the server.
        public static let serverError = Code("server_error")
        /// A server that is overloaded or in maintenance.
        public static let temporarilyUnavailable = Code("temporarily_unavailable")
        static let authorizationPending = Code("authorization_pending")
        static let slowDown = Code("slow_down")

        /// The names that requests of this module may receive.
        static let registered: Set<Code> = [
            .invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient, .unsupportedGrantType, .invalidScope,
            .invalidTarget, .accessDenied, .expiredToken, .serverError, .temporarilyUnavailable, .authorizationPending,
            .slowDown,
        ]

        public var description: String { name }
    }
}

extension OAuth {
    /// The JSON of a refusal.
    struct FailureResponse: Decodable {
        private let error: String
        private let explanation: String?
        private let page: String?

        private enum CodingKeys: String, CodingKey {
            case error
            case explanation = "error_description"
            case page = "error_uri"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            error = try container.decode(String.self, forKey: .error)
            // An optional member of a wrong type is ignored.
            explanation = try? container.decode(String.self, forKey: .explanation)
            page = try? container.decode(String.self, forKey: .page)
        }

        /// The refusal; nil if its name is invalid.
        ///
        /// RFC 6749 only allows printable ASCII. Names must obey this rule. Explanations of large servers contain line
        /// ends and letters of other languages, so they are escaped instead.
        /// - Parameter secrets: The secret values of the request. An explanation that repeats one of them is removed.
        ///   Values shorter than 4 bytes do not count, and a code of the registry is kept.
        func failure(masking secrets: [String]) -> Failure? {
            // A server may repeat the form as it was sent.
            let secrets = secrets + secrets.map { PercentEncoding.encodeForm($0) }
            guard !error.isEmpty, error.utf8.count <= 128, error.utf8.allSatisfy(\.isErrorByte) else { return nil }
            let isRepeating = { (text: String) in
                secrets.contains { $0.utf8.count >= 4 && Array(text.utf8).contains(Array($0.utf8)) }
            }
            let code = Failure.Code(error)
            guard Failure.Code.registered.contains(code) || !isRepeating(error) else { return nil }
            return Failure(
                code: code,
                explanation: explanation.flatMap { isRepeating($0) ? nil : PeerText.escaped($0, limit: 1024) },
                page: page.flatMap { Self.isPage($0) && !isRepeating($0) ? $0 : nil })
        }

        private static func isPage(_ uri: String) -> Bool {
            uri.utf8.count <= 2048 && uri.utf8.allSatisfy(\.isScopeByte)
                && (uri.utf8.starts(with: "https://".utf8) || uri.utf8.starts(with: "http://".utf8))
        }
    }
}
