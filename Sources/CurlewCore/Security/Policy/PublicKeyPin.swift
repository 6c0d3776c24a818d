public import FoundationEssentials

extension SecurityPolicy {
    /// A pin of a public key: the SHA-256 of its SubjectPublicKeyInfo (RFC 7469 §2.4).
    ///
    /// `curlew trust HOST` prints the pins of a server.
    public struct Pin: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The 32 bytes of the hash.
        public let sha256: [UInt8]

        /// Reads `sha256/` followed by 44 characters of Base64, the form of curl and OkHttp.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for any other text.
        public init(_ text: String) throws {
            let prefix = "sha256/"
            guard text.hasPrefix(prefix), let data = Data(base64Encoded: String(text.dropFirst(prefix.count))),
                data.count == Self.size
            else {
                throw CurlewError(.invalidTLSSetting, "a pin is not sha256/ and the Base64 of 32 bytes")
            }
            sha256 = Array(data)
            // Foundation ignores some invalid characters at the end, so the text is compared with its canonical form.
            guard description == text else {
                throw CurlewError(.invalidTLSSetting, "a pin is not sha256/ and the Base64 of 32 bytes")
            }
        }

        /// The pin of a certificate's key.
        public init(of certificate: CurlewCertificate) throws { self = try certificate.publicKeyPin() }

        init(sha256: [UInt8]) { self.sha256 = sha256 }

        static let size = 32

        /// The pin as `sha256/` followed by Base64.
        public var description: String { "sha256/" + Data(sha256).base64EncodedString() }

        public init(from decoder: any Decoder) throws {
            try self.init(decoder.singleValueContainer().decode(String.self))
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}

extension SecurityPolicy {
    /// Pinned public keys, backup keys, and the time of their expiry.
    public struct PinSet: Sendable, Hashable, Codable {
        /// The keys in use.
        public var pins: [SecurityPolicy.Pin]
        /// The keys that are not in use yet, so that the server can change to one without excluding its clients. A
        /// server with one of them is accepted, too.
        public var backups: [SecurityPolicy.Pin]
        /// The time after which the pins are not required; all other checks stay. nil, the default, requires them
        /// forever.
        ///
        /// An expiry keeps a client that is never updated from being excluded forever. A policy that also allows
        /// invalid certificates accepts no server afterwards.
        public var expires: Date?

        public init(_ pins: [SecurityPolicy.Pin], backups: [SecurityPolicy.Pin] = [], expires: Date? = nil) {
            self.pins = pins
            self.backups = backups
            self.expires = expires
        }

        /// The keys in use and the backup keys.
        var all: [SecurityPolicy.Pin] { pins + backups }
    }
}
