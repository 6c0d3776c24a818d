public import FoundationEssentials

extension SecurityPolicy {
    /// A public key that is known beforehand, by the SHA-256 of its SubjectPublicKeyInfo (RFC 7469 §2.4).
    ///
    /// `curlew trust HOST` prints those of a server.
    public struct Pin: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The 32 bytes of the hash.
        public let sha256: [UInt8]

        /// Reads `sha256/` and 44 characters of Base64, as curl and OkHttp write it.
        /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for anything else.
        public init(_ text: String) throws {
            let prefix = "sha256/"
            guard text.hasPrefix(prefix), let data = Data(base64Encoded: String(text.dropFirst(prefix.count))),
                data.count == Self.size
            else {
                throw CurlewError(.invalidTLSSetting, "a pin is not sha256/ and the Base64 of 32 bytes")
            }
            sha256 = Array(data)
            // Foundation is lenient about what follows the last digit.
            guard description == text else {
                throw CurlewError(.invalidTLSSetting, "a pin is not sha256/ and the Base64 of 32 bytes")
            }
        }

        /// The pin of a certificate's key.
        public init(of certificate: CurlewCertificate) throws { self = try certificate.publicKeyPin() }

        init(sha256: [UInt8]) { self.sha256 = sha256 }

        static let size = 32

        /// `sha256/` and Base64.
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
    /// Pinned public keys, those kept in reserve, and until when they hold.
    public struct PinSet: Sendable, Hashable, Codable {
        /// The keys in use.
        public var pins: [SecurityPolicy.Pin]
        /// Keys that are not in use yet, so that the server can change to one without locking its clients out. They are
        /// taken as the others are.
        public var backups: [SecurityPolicy.Pin]
        /// The moment from which on the pins are not asked for, so that a client that was never updated is not locked out for
        /// good; all other checks stay. nil, the default: they always are. A policy that also allows invalid certificates
        /// accepts nobody afterwards.
        public var expires: Date?

        public init(_ pins: [SecurityPolicy.Pin], backups: [SecurityPolicy.Pin] = [], expires: Date? = nil) {
            self.pins = pins
            self.backups = backups
            self.expires = expires
        }

        /// The keys in use and those in reserve.
        var all: [SecurityPolicy.Pin] { pins + backups }
    }
}
