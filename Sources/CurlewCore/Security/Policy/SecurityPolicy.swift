public import FoundationEssentials

/// The rules of trust and of TLS for connections: a value that is evaluated during the handshake.
///
/// ```swift
/// let pins = SecurityPolicy.PinSet([try SecurityPolicy.Pin(inUse)], backups: [try SecurityPolicy.Pin(reserve)])
/// var policy = SecurityPolicy.pinned(pins)
/// policy.minimumTLSVersion = .tls13
/// ```
///
/// Connections, TLS sessions and HTTP/2 streams of one policy are never used under another; equal policies share them.
/// A session compiles its policy when it is created, and throws an error for an invalid one.
public struct SecurityPolicy: Sendable, Hashable, Codable {
    enum Anchors: Sendable, Hashable, Codable {
        case system
        case pem(String)
        case certificates([CurlewCertificate])
    }

    private(set) var anchors: Anchors

    /// The keys or certificates of which one must be in the server's chain. `none` by default.
    public var pinning = SecurityPolicy.Pinning.none
    /// True if unverifiable certificates are accepted. False by default. The table in <doc:Security> lists the
    /// remaining checks: with pinned keys, neither name nor dates nor issuers are checked.
    public var allowsInvalidCertificates = false
    /// True if the certificate must be valid for the request's host. True by default.
    public var validatesDomainName = true

    /// True if paths must also satisfy the requirements of RFC 5280 and the CA/Browser Forum that browsers do not
    /// enforce (`X509_V_FLAG_X509_STRICT` and more). False by default.
    public var isStrict = false
    /// True if a server's own certificate may be that of an authority (basic constraints, RFC 5280 §4.2.1.9), if it
    /// includes the usage `serverAuth`. False by default, as the CA/Browser Forum requires.
    ///
    /// Some appliances issue such certificates for themselves. The owner of its key can issue a certificate for any
    /// name. An anchor may always be a server's certificate.
    public var allowsAuthorityAsServer = false
    /// The largest number of certificates between the server's and the anchor. 10 by default.
    public var intermediateLimit = 10
    /// The time at which certificates must be valid; nil, the default, selects the present.
    public var validationDate: Date?
    /// The lists of revoked certificates; nil, the default, disables the check.
    public var revocationLists: SecurityPolicy.RevocationLists?
    /// The treatment of stapled responses about revocation.
    public var stapling = SecurityPolicy.Stapling.ifPresent
    /// Your own code that makes the final decision. A policy with an evaluator cannot be encoded.
    public var evaluator: SecurityPolicy.Evaluator?

    /// The client's certificate, for servers that request one. A policy with an identity cannot be encoded.
    public var identity: ClientIdentity?
    /// A changing identity, changing anchors, or both; they replace those of the policy while sessions are in use. A
    /// policy with a rotation cannot be encoded.
    public var rotation: SecurityPolicy.Rotation?
    /// The lowest TLS version that is accepted.
    public var minimumTLSVersion: SecurityPolicy.TLSVersion = .tls12
    /// The highest TLS version that is accepted.
    public var maximumTLSVersion: SecurityPolicy.TLSVersion = .tls13
    /// The ciphers for TLS 1.2 in OpenSSL's notation (`ECDHE+AESGCM`); nil selects OpenSSL's default.
    public var ciphers: String?
    /// The cipher suites for TLS 1.3, joined by colons (`TLS_AES_256_GCM_SHA384`); nil selects OpenSSL's default.
    public var cipherSuites: String?
    /// The groups for the key exchange, joined by colons (`X25519:P-256`); nil selects OpenSSL's default.
    public var groups: String?
    /// The name of the host that the handshake sends to the server (Server Name Indication).
    public var serverName = SecurityPolicy.ServerNameIndication.host
    /// A file to which the secrets of each connection are appended, for Wireshark. Any reader of the file can decrypt
    /// the connections. nil, the default, disables it; the environment variable `SSLKEYLOGFILE` is ignored.
    public var keyLogPath: String?

    /// The policies for particular hosts; the first matching one applies.
    public var hosts: [SecurityPolicy.HostPolicy] = []

    init(anchors: Anchors) { self.anchors = anchors }
}

extension RequestOptions {
    private enum SecurityKey: SourceKey {
        static let defaultValue: SecurityPolicy? = nil

        static func sourceText(_ value: SecurityPolicy?) throws -> String? { try value?.sourceText() }
    }

    /// The rules of trust and of TLS for this request. A policy that differs from the session's uses separate
    /// connections. Store and reuse the value: a policy without another user is compiled again for each request.
    public var security: SecurityPolicy? {
        get { self[SecurityKey.self] }
        set { self[SecurityKey.self] = newValue }
    }
}

extension SecurityPolicy {
    /// A name of the policy that is the same in every process: the SHA-256 of its encoding, without the key of an
    /// identity. It is empty for ``system``.
    /// - Throws: An error for a policy that cannot be encoded, because it has an evaluator, a rotation, or an identity
    ///   for a single host.
    func sourceText() throws -> String {
        guard self != .system else { return "" }
        var copy = self
        copy.identity = nil
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let words = String(decoding: try encoder.encode(copy), as: UTF8.self)
        let chain = (identity?.chain ?? []).map { " \($0.der.hexadecimal)" }.joined()
        return try MessageDigest.hash(words + chain, by: .sha256)
    }

    /// A name of a session's policy. It excludes evaluators and rotations, as all requests of a session share them.
    var sessionSourceText: String {
        var copy = self
        (copy.evaluator, copy.rotation) = (nil, nil)
        for index in copy.hosts.indices {
            copy.hosts[index].policy.evaluator = nil
            copy.hosts[index].policy.rotation = nil
            copy.hosts[index].policy.identity = nil
        }
        let text = (try? copy.sourceText()) ?? "unnamed"
        return copy == self ? text : text + " in part"
    }
}

// Factory methods, and the certificates of a directory.
extension SecurityPolicy {
    /// A policy with the certificate authorities of the system.
    public static let system = SecurityPolicy(anchors: .system)

    /// A policy with these certificates, in PEM, as the only anchors. A server's own certificate may be among them.
    public static func anchors(pem: String) -> SecurityPolicy { SecurityPolicy(anchors: .pem(pem)) }

    /// A policy with these certificates as the only anchors. A server's own certificate may be among them.
    public static func anchors(_ certificates: [CurlewCertificate]) -> SecurityPolicy {
        SecurityPolicy(anchors: .certificates(certificates))
    }

    /// A policy with these certificates, in PEM, as the only anchors; in addition one of the keys must be in the
    /// verified chain.
    ///
    /// Without a pin the policy accepts no server.
    public static func anchors(pem: String, pins: SecurityPolicy.PinSet) -> SecurityPolicy {
        anchors(pem: pem).pinning(.keys(pins))
    }

    /// A policy with these certificates as the only anchors; in addition one of the keys must be in the verified chain.
    ///
    /// Without a pin the policy accepts no server.
    public static func anchors(_ certificates: [CurlewCertificate], pins: SecurityPolicy.PinSet) -> SecurityPolicy {
        anchors(certificates).pinning(.keys(pins))
    }

    /// A policy with the certificate authorities of the system; in addition one of the keys must be in the verified
    /// chain.
    ///
    /// Without a pin the policy accepts no server.
    public static func pinned(_ keys: SecurityPolicy.PinSet) -> SecurityPolicy { pinned(by: .keys(keys)) }

    /// A policy with the certificate authorities of the system and this pinning, as in `AFSecurityPolicy
    /// policyWithPinningMode:withPinnedCertificates:`.
    public static func pinned(by pinning: SecurityPolicy.Pinning) -> SecurityPolicy { system.pinning(pinning) }

    private func pinning(_ pinning: SecurityPolicy.Pinning) -> SecurityPolicy {
        var policy = self
        policy.pinning = pinning
        return policy
    }

    /// The largest number of files that ``certificates(inDirectory:)`` reads: 10,000.
    public static let directoryLimit = 10_000

    /// The certificates in the files of a directory whose names end in `.cer`, `.crt`, `.der` or `.pem`, sorted by
    /// name. Each may be DER or PEM. Subdirectories are not read. The call blocks while it reads.
    ///
    /// AFNetworking skipped unreadable files, and so pinned less than intended; this function throws instead.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for an unreadable directory or file, an invalid
    ///   certificate, or more than ``directoryLimit`` files.
    public static func certificates(inDirectory path: String) throws -> [CurlewCertificate] {
        let endings = [".cer", ".crt", ".der", ".pem"]
        let names = try SecurityFile.names(inDirectory: path).filter { name in
            endings.contains { name.lowercased().hasSuffix($0) }
        }
        guard names.count <= directoryLimit else {
            throw CurlewError(.invalidTLSSetting, "\(path) has more than \(directoryLimit) certificates")
        }
        return try names.flatMap { try certificates(inFile: "\(path)/\($0)") }
    }

    /// A copy of the policy with these certificates as the only anchors.
    package func replacingAnchors(_ certificates: [CurlewCertificate]) -> SecurityPolicy {
        var copy = self
        copy.anchors = .certificates(certificates)
        return copy
    }

    /// The certificates in a file of at most 16 MiB, DER or PEM.
    package static func certificates(inFile path: String) throws -> [CurlewCertificate] {
        try certificates(in: SecurityFile.bytes(of: path, limit: 16 << 20))
    }

    /// The certificates in the bytes of a file, DER or PEM.
    static func certificates(in bytes: [UInt8]) throws -> [CurlewCertificate] {
        guard PEMText.isPEM(bytes) else { return [try CurlewCertificate(der: bytes)] }
        return try PEMText.blocks(in: bytes, labels: PEMText.certificateLabels).map { try CurlewCertificate(der: $0) }
    }
}

extension SecurityPolicy {
    /// Checks that a base URL uses TLS if the policy pins keys or certificates.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting``.
    func checkBase(_ base: CurlewURI?) throws {
        guard pinning != .none, let base, !base.layout.isSecure else { return }
        throw CurlewError(.invalidTLSSetting, "a security policy that pins needs a base URL of https")
    }
}

extension SecurityPolicy {
    /// The treatment of a revocation response that the server staples to the handshake (RFC 6066 §8).
    public struct Stapling: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// No response is requested.
        public static let off = SecurityPolicy.Stapling(rawValue: "off")
        /// A response is requested; if one is stapled it must be good. It must be present if the certificate requires
        /// it (RFC 7633).
        public static let ifPresent = SecurityPolicy.Stapling(rawValue: "if-present")
        /// A response must be present and good.
        public static let required = SecurityPolicy.Stapling(rawValue: "required")

        public var description: String { rawValue }
    }
}

extension SecurityPolicy {
    /// The host name that the handshake sends to the server unencrypted (RFC 6066 §3). Certificates are always checked
    /// for the host of the request.
    public enum ServerNameIndication: Sendable, Hashable, Codable {
        /// The request's host; no name if it is an address.
        case host
        /// No name.
        case none
        /// Another name.
        case name(String)
    }
}

extension SecurityPolicy {
    /// A version of TLS.
    public struct TLSVersion: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The version in OpenSSL's form: `TLSv1.3`.
        public let description: String

        init(_ description: String) { self.description = description }

        /// TLS 1.2 (RFC 5246).
        public static let tls12 = SecurityPolicy.TLSVersion("TLSv1.2")
        /// TLS 1.3 (RFC 8446).
        public static let tls13 = SecurityPolicy.TLSVersion("TLSv1.3")

        /// True if a policy may use this version.
        var isKnown: Bool { self == .tls12 || self == .tls13 }
    }
}
