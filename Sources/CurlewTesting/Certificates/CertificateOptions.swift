#if TestKit
extension HeldCertificate {
    /// The contents of a certificate to make.
    public struct Options: Sendable, Hashable {
        /// The subject's common name; an empty one leaves the subject empty. Clients check the alternative names, not
        /// this name.
        public var commonName: String
        /// The names that the certificate is valid for, in order.
        public var alternativeNames: [AlternativeName]
        /// The period in which the certificate is valid; by default it starts a day ago and lasts thirty days more.
        public var validity: Validity
        /// The kind of key; P-256 by default, because it is the fastest to make.
        public var key: KeyKind
        /// The hash that the issuer signs with; Ed25519 issuers ignore it.
        public var signatureHash: SignatureHash
        /// The right to issue other certificates, and the maximum length of their path.
        public var authority: Authority
        /// Key usage by its names in x509v3_config(5); `nil` writes the usage that fits ``authority``, an empty array
        /// none.
        public var keyUsage: [String]?
        /// Extended key usage by its names; `nil` writes `serverAuth` and `clientAuth` unless the certificate is an
        /// authority.
        public var extendedKeyUsage: [String]?
        /// Name constraints in the notation of x509v3_config(5), such as `"permitted;DNS:example.test"`.
        public var nameConstraints: [String]
        /// True if the name constraints are critical, as RFC 5280 requires.
        public var nameConstraintsAreCritical: Bool
        /// True if a server with this certificate must staple a revocation response (RFC 7633).
        public var requiresStapling: Bool
        /// The serial number; random when `nil`.
        public var serialNumber: UInt64?
        /// True if the certificate has an authority key identifier, which names its issuer's key; a root has none.
        public var namesAuthorityKey: Bool
        /// Extensions besides those of the other properties, in order; their contents may be wrong on purpose.
        public var otherExtensions: [Extension]

        /// Makes options; each has the default that its property documents.
        public init(
            commonName: String = "localhost",
            alternativeNames: [AlternativeName] = [],
            validity: Validity = .usual,
            key: KeyKind = .ecP256,
            signatureHash: SignatureHash = .sha256,
            authority: Authority = .none,
            keyUsage: [String]? = nil,
            extendedKeyUsage: [String]? = nil,
            nameConstraints: [String] = [],
            nameConstraintsAreCritical: Bool = true,
            requiresStapling: Bool = false,
            serialNumber: UInt64? = nil,
            namesAuthorityKey: Bool = true,
            otherExtensions: [Extension] = []
        ) {
            self.commonName = commonName
            self.alternativeNames = alternativeNames
            self.validity = validity
            self.key = key
            self.signatureHash = signatureHash
            self.authority = authority
            self.keyUsage = keyUsage
            self.extendedKeyUsage = extendedKeyUsage
            self.nameConstraints = nameConstraints
            self.nameConstraintsAreCritical = nameConstraintsAreCritical
            self.requiresStapling = requiresStapling
            self.serialNumber = serialNumber
            self.namesAuthorityKey = namesAuthorityKey
            self.otherExtensions = otherExtensions
        }

        /// A certificate authority, which may issue other certificates.
        public static func authority(_ commonName: String, pathLength: Int? = nil) -> Options {
            Options(commonName: commonName, authority: .authority(pathLength: pathLength))
        }

        /// A certificate of a server or a client for DNS names.
        public static func server(_ names: String...) -> Options {
            Options(commonName: names.first ?? "localhost", alternativeNames: names.map { .dns($0) })
        }
    }

    /// A period of time, relative to the present.
    public struct Validity: Sendable, Hashable {
        let start: Duration
        let end: Duration

        /// The period from a day ago until thirty days from now.
        public static let usual = Validity(start: .seconds(-86_400), end: .seconds(30 * 86_400))
        /// A period that ended an hour ago.
        public static let expired = Validity(start: .seconds(-30 * 86_400), end: .seconds(-3600))
        /// A period that begins in a day.
        public static let notYetValid = Validity(start: .seconds(86_400), end: .seconds(30 * 86_400))

        /// Makes a period from `start` to `end`, both relative to now; negative values are in the past. Fractions of a
        /// second are ignored.
        public init(start: Duration, end: Duration) {
            self.start = start
            self.end = end
        }
    }

    /// A kind of key.
    public struct KeyKind: Sendable, Hashable {
        enum Algorithm: Sendable, Hashable {
            case ec(curve: String)
            case rsa(bits: UInt32)
            case ed25519
        }

        let algorithm: Algorithm

        /// ECDSA on P-256.
        public static let ecP256 = KeyKind(algorithm: .ec(curve: "P-256"))
        /// ECDSA on P-384.
        public static let ecP384 = KeyKind(algorithm: .ec(curve: "P-384"))
        /// RSA with 2048 bits.
        public static let rsa2048 = KeyKind(algorithm: .rsa(bits: 2048))
        /// RSA with 1024 bits, which no client should accept.
        public static let rsa1024 = KeyKind(algorithm: .rsa(bits: 1024))
        /// Ed25519.
        public static let ed25519 = KeyKind(algorithm: .ed25519)
    }

    /// A hash for a signature.
    public struct SignatureHash: Sendable, Hashable {
        let name: String

        /// SHA-1, which no client should accept.
        public static let sha1 = SignatureHash(name: "SHA1")
        /// SHA-256.
        public static let sha256 = SignatureHash(name: "SHA256")
        /// SHA-384.
        public static let sha384 = SignatureHash(name: "SHA384")
    }

    /// The basic constraints (RFC 5280, section 4.2.1.9).
    public struct Authority: Sendable, Hashable {
        let isAuthority: Bool
        let pathLength: Int?

        /// A certificate that may not issue others.
        public static let none = Authority(isAuthority: false, pathLength: nil)
        /// A certificate that may not issue others but has a path length, which RFC 5280 forbids.
        public static func none(pathLength: Int) -> Authority {
            Authority(isAuthority: false, pathLength: pathLength)
        }
        /// An authority that may issue others; at most `pathLength` intermediates may follow, or any number when it is
        /// `nil`.
        public static func authority(pathLength: Int? = nil) -> Authority {
            Authority(isAuthority: true, pathLength: pathLength)
        }
    }

    /// An extension: its name, which is OpenSSL's short name or an object identifier, and its value.
    public struct Extension: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case text(String)
            case encoded([UInt8], isCritical: Bool)
        }

        let name: String
        let value: Value

        /// An extension in the notation of x509v3_config(5): `.text("authorityKeyIdentifier", "keyid:always")`.
        public static func text(_ name: String, _ value: String) -> Extension {
            Extension(name: name, value: .text(value))
        }

        /// An extension with a DER value, which is written as given, valid or not.
        public static func encoded(_ name: String, isCritical: Bool = false, _ bytes: [UInt8]) -> Extension {
            Extension(name: name, value: .encoded(bytes, isCritical: isCritical))
        }
    }
}
#endif
