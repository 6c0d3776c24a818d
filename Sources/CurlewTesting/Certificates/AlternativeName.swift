#if TestKit
internal import CurlewPlatform

extension HeldCertificate {
    /// A subject alternative name (RFC 5280, section 4.2.1.6).
    ///
    /// The text is written as given and is not validated, so that a test can make an invalid name on purpose.
    public struct AlternativeName: Sendable, Hashable {
        private enum Kind: Sendable, Hashable {
            case encoded(tag: UInt8, [UInt8])
            case ip(String)
        }

        private let kind: Kind

        /// A DNS name, which may start with `*.`. It is written in UTF-8, though only ASCII is allowed.
        public static func dns(_ name: String) -> AlternativeName { .raw(tag: 0x82, Array(name.utf8)) }
        /// An IPv4 or IPv6 address as text.
        ///
        /// Other text fails when the certificate is made. ``raw(tag:_:)`` with the tag 0x87 accepts any
        /// number of bytes.
        public static func ip(_ address: String) -> AlternativeName { AlternativeName(kind: .ip(address)) }
        /// A URI.
        public static func uri(_ uri: String) -> AlternativeName { .raw(tag: 0x86, Array(uri.utf8)) }
        /// An email address (RFC 822).
        public static func email(_ address: String) -> AlternativeName { .raw(tag: 0x81, Array(address.utf8)) }

        /// Any kind of name: its identifier octet and its contents.
        ///
        ///     .raw(tag: 0x82, Array("good.test\0.evil.test".utf8))
        ///
        /// - Parameters:
        ///   - tag: 0xa0 another name, 0x81 an email address, 0x82 a DNS name, 0xa4 a directory name, 0x86 a URI, 0x87
        ///     an address, 0x88 a registered identifier.
        ///   - contents: The bytes after tag and length.
        public static func raw(tag: UInt8, _ contents: [UInt8]) -> AlternativeName {
            AlternativeName(kind: .encoded(tag: tag, contents))
        }

        /// The name in DER.
        var encoded: [UInt8] {
            get throws {
                switch self.kind {
                case .encoded(let tag, let contents): DER.encode(tag: tag, contents)
                case .ip(let address): DER.encode(tag: 0x87, try Self.bytes(ofAddress: address))
                }
            }
        }

        private static func bytes(ofAddress address: String) throws -> [UInt8] {
            // A C string would end at a zero byte.
            let isText = !address.utf8.contains(0)
            for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
                var bytes = [UInt8](repeating: 0, count: count)
                if isText, inet_pton(family, address, &bytes) == 1 { return bytes }
            }
            throw TestKitError("an alternative name is no IP address: \(address)")
        }
    }
}
#endif
