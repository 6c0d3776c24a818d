internal import Curlew
internal import FoundationEssentials

extension OAuth {
    /// The codes of a device that waits for its user (RFC 8628 §3.2).
    public struct DeviceAuthorization: Sendable, Decodable {
        /// The code that the user enters, with control characters escaped.
        public let userCode: String
        /// The page on which the user enters the code: a URI of http or https.
        public let verificationURI: String
        /// The page with the code in its URI, for a QR code; nil if the server sends none.
        public let completeVerificationURI: String?
        /// The validity of the codes. A longer one than 24 hours counts as 24 hours.
        public let lifetime: Duration
        /// The shortest time between two requests for the token.
        let interval: Duration
        let deviceCode: String

        private enum CodingKeys: String, CodingKey {
            case deviceCode = "device_code"
            case userCode = "user_code"
            case verificationURI = "verification_uri"
            /// The name in drafts of the RFC, which a large server still uses.
            case oldVerificationURI = "verification_url"
            case completeVerificationURI = "verification_uri_complete"
            case lifetime = "expires_in"
            case interval
        }

        /// - Throws: `DecodingError`, and ``Curlew/CurlewError`` with ``Curlew/ErrorCode/invalidToken`` for invalid
        ///   values.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let deviceCode = try container.decode(String.self, forKey: .deviceCode)
            let userCode = try container.decode(String.self, forKey: .userCode)
            let page =
                try container.decodeIfPresent(String.self, forKey: .verificationURI)
                ?? container.decode(String.self, forKey: .oldVerificationURI)
            let complete = try container.decodeIfPresent(String.self, forKey: .completeVerificationURI)
            guard !deviceCode.isEmpty, deviceCode.isPrintableASCII, deviceCode.utf8.count <= Token.sizeLimit,
                !userCode.isEmpty, Self.isPage(page), complete.map(Self.isPage) ?? true
            else {
                throw CurlewError(
                    .invalidToken, "the codes for a device are not valid, or have no page to enter them")
            }
            self.deviceCode = deviceCode
            self.userCode = PeerText.escaped(userCode, limit: 128)
            verificationURI = page
            completeVerificationURI = complete
            lifetime = .seconds(min(try container.decode(Lifetime.self, forKey: .lifetime).seconds, Self.longest))
            let interval = try container.decodeIfPresent(Lifetime.self, forKey: .interval)?.seconds ?? 5
            self.interval = .seconds(max(1, interval))
        }

        /// The longest validity of codes, in seconds. It bounds the requests for the token.
        private static let longest: Int64 = 86_400

        private static func isPage(_ uri: String) -> Bool {
            uri.utf8.count <= 2048 && uri.isVisibleASCII
                && (uri.utf8.starts(with: "https://".utf8) || uri.utf8.starts(with: "http://".utf8))
        }
    }
}

extension OAuth.DeviceAuthorization: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "device authorization at \(verificationURI)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["verificationURI": verificationURI]) }
}
