public import FoundationEssentials

/// The rules by which to trust the other end of a TLS connection, and to speak TLS: a value, evaluated inside the handshake.
///
/// ```swift
/// var policy = try SecurityPolicy.pinned(SecurityPolicy.PinSet([SecurityPolicy.Pin(inUse)], backups: [SecurityPolicy.Pin(reserve)]))
/// policy.minimumTLSVersion = .tls13
/// ```
///
/// Connections, TLS sessions and HTTP/2 streams of one policy are never used under another; two that are equal share them.
/// A session reads its policy when it is made, so a policy that cannot be used is an error there.
public struct SecurityPolicy: Sendable, Hashable, Codable {
    enum Anchors: Sendable, Hashable, Codable {
        case system
        case pem(String)
        case certificates([CurlewCertificate])
    }

    private(set) var anchors: Anchors

    /// The keys or certificates, one of which has to be in the server's chain. `none` by default.
    public var pinning = SecurityPolicy.Pinning.none
    /// True if certificates are taken that cannot be verified. The table in <doc:Security> says what is left then: with
    /// pinned keys neither name nor dates nor issuers are looked at. False by default.
    public var allowsInvalidCertificates = false
    /// True if the certificate has to be for the request's host. True by default.
    public var validatesDomainName = true

    /// True if paths have to keep what RFC 5280 and the CA/Browser Forum ask beyond what browsers do
    /// (`X509_V_FLAG_X509_STRICT` and more). False by default.
    public var isStrict = false
    /// True if a server's own certificate may be an authority's (basic constraints, RFC 5280 §4.2.1.9), as appliances
    /// have them that issue their own. It has to say `serverAuth` then. False by default, as the CA/Browser Forum has
    /// it: who holds such a certificate's key can make one for any name. An anchor may be a server's certificate in any
    /// case.
    public var allowsAuthorityAsServer = false
    /// The most certificates between the server's and the anchor. 10 by default.
    public var intermediateLimit = 10
    /// The moment at which certificates have to be valid; nil, the default, is now.
    public var validationDate: Date?
    /// Lists of revoked certificates; nil, the default, asks none.
    public var revocationLists: SecurityPolicy.RevocationLists?
    /// The treatment of stapled responses about revocation.
    public var stapling = SecurityPolicy.Stapling.ifPresent
    /// Code of your own that has the last word; a policy with one cannot be encoded.
    public var evaluator: SecurityPolicy.Evaluator?

    /// The client's certificate, for servers that ask; a policy with one cannot be encoded.
    public var identity: ClientIdentity?
    /// An identity, anchors or both that change while sessions live, instead of those of the policy; a policy with one cannot
    /// be encoded.
    public var rotation: SecurityPolicy.Rotation?
    /// The lowest TLS version to agree to.
    public var minimumTLSVersion: SecurityPolicy.TLSVersion = .tls12
    /// The highest TLS version to agree to.
    public var maximumTLSVersion: SecurityPolicy.TLSVersion = .tls13
    /// Ciphers for TLS 1.2 in OpenSSL's notation (`ECDHE+AESGCM`); nil is OpenSSL's own choice.
    public var ciphers: String?
    /// Cipher suites for TLS 1.3, joined by colons (`TLS_AES_256_GCM_SHA384`); nil is OpenSSL's own choice.
    public var cipherSuites: String?
    /// Groups for the exchange of keys, joined by colons (`X25519:P-256`); nil is OpenSSL's own choice.
    public var groups: String?
    /// The name of the host that the handshake sends to the server (Server Name Indication).
    public var serverName = SecurityPolicy.ServerNameIndication.host
    /// A file to which the secrets of each connection are appended, for Wireshark. Whoever reads it can read all that went
    /// over the wire. nil, the default, writes none; the environment's `SSLKEYLOGFILE` is not heeded.
    public var keyLogPath: String?

    /// Other policies for some hosts; the first that fits holds.
    public var hosts: [SecurityPolicy.HostPolicy] = []

    init(anchors: Anchors) { self.anchors = anchors }
}

extension RequestOptions {
    private enum SecurityKey: SourceKey {
        static let defaultValue: SecurityPolicy? = nil

        static func sourceText(_ value: SecurityPolicy?) throws -> String? { try value?.sourceText() }
    }

    /// The rules by which to trust the other end, and to speak TLS. A policy that differs from the session's takes
    /// connections of its own; keep and reuse the value, as a policy that nobody else has is read anew for each request.
    public var security: SecurityPolicy? {
        get { self[SecurityKey.self] }
        set { self[SecurityKey.self] = newValue }
    }
}

extension SecurityPolicy {
    /// A name of the policy, the same in every process: the SHA-256 of its words, without the key of an identity. Empty for ``system``.
    /// - Throws: An error for a policy that cannot be encoded, as it has an evaluator, a rotation, or an identity for a single host.
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

    /// A name of the policy of a session. Code and rotations are not part of it: all requests of a session have them in common.
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

// The points to start from, and the certificates of a directory.
extension SecurityPolicy {
    /// The certificate authorities of the system.
    public static let system = SecurityPolicy(anchors: .system)

    /// These certificates, in PEM, and no others. A server's own certificate may be among them.
    public static func anchors(pem: String) -> SecurityPolicy { SecurityPolicy(anchors: .pem(pem)) }

    /// These certificates and no others. A server's own certificate may be among them.
    public static func anchors(_ certificates: [CurlewCertificate]) -> SecurityPolicy {
        SecurityPolicy(anchors: .certificates(certificates))
    }

    /// These certificates, in PEM, and no others, and one of these keys in the chain that they vouch for.
    ///
    /// Without a pin it accepts no server.
    public static func anchors(pem: String, pins: SecurityPolicy.PinSet) -> SecurityPolicy {
        anchors(pem: pem).pinning(.keys(pins))
    }

    /// These certificates and no others, and one of these keys in the chain that they vouch for.
    ///
    /// Without a pin it accepts no server.
    public static func anchors(_ certificates: [CurlewCertificate], pins: SecurityPolicy.PinSet) -> SecurityPolicy {
        anchors(certificates).pinning(.keys(pins))
    }

    /// The certificate authorities of the system, and one of these keys in the chain that they vouch for.
    ///
    /// Without a pin it accepts no server.
    public static func pinned(_ keys: SecurityPolicy.PinSet) -> SecurityPolicy { pinned(by: .keys(keys)) }

    /// The certificate authorities of the system, and this pinning, as `AFSecurityPolicy policyWithPinningMode:withPinnedCertificates:` made it.
    public static func pinned(by pinning: SecurityPolicy.Pinning) -> SecurityPolicy { system.pinning(pinning) }

    private func pinning(_ pinning: SecurityPolicy.Pinning) -> SecurityPolicy {
        var policy = self
        policy.pinning = pinning
        return policy
    }

    /// The most files that ``certificates(inDirectory:)`` reads.
    public static let directoryLimit = 10_000

    /// The certificates in the files of a directory whose names end in `.cer`, `.crt`, `.der` or `.pem`, sorted by name; each
    /// may be DER or PEM. Directories in it are not looked into. It blocks while it reads.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for a directory or a file that cannot be read, a
    ///   broken certificate, or more than ``directoryLimit`` files. AFNetworking skipped what it could not read, and
    ///   pinned less than was meant.
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

    /// The same policy, with these certificates and no others as anchors.
    package func replacingAnchors(_ certificates: [CurlewCertificate]) -> SecurityPolicy {
        var copy = self
        copy.anchors = .certificates(certificates)
        return copy
    }

    /// The certificates in a file, DER or PEM, of 16 MiB at most.
    package static func certificates(inFile path: String) throws -> [CurlewCertificate] {
        try certificates(in: SecurityFile.bytes(of: path, limit: 16 << 20))
    }

    /// The certificates in the content of a file, DER or PEM.
    static func certificates(in bytes: [UInt8]) throws -> [CurlewCertificate] {
        guard PEMText.isPEM(bytes) else { return [try CurlewCertificate(der: bytes)] }
        return try PEMText.blocks(in: bytes, labels: PEMText.certificateLabels).map { try CurlewCertificate(der: $0) }
    }
}

extension SecurityPolicy {
    /// A session that pins cannot speak without TLS.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting``.
    func checkBase(_ base: CurlewURI?) throws {
        guard pinning != .none, let base, !base.layout.isSecure else { return }
        throw CurlewError(.invalidTLSSetting, "a security policy that pins needs a base URL of https")
    }
}

extension SecurityPolicy {
    /// The treatment of a response about revocation that the server hands over in the handshake (RFC 6066 §8).
    public struct Stapling: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// None is asked for.
        public static let off = SecurityPolicy.Stapling(rawValue: "off")
        /// One is asked for; if it comes it has to be good. It has to come if the certificate says so (RFC 7633).
        public static let ifPresent = SecurityPolicy.Stapling(rawValue: "if-present")
        /// One has to come and has to be good.
        public static let required = SecurityPolicy.Stapling(rawValue: "required")

        public var description: String { rawValue }
    }
}

extension SecurityPolicy {
    /// The name of the host that the handshake sends to the server in the clear (RFC 6066 §3). Certificates are always
    /// checked for the host of the request.
    public enum ServerNameIndication: Sendable, Hashable, Codable {
        /// The request's host; none for an address.
        case host
        /// None.
        case none
        /// Another name.
        case name(String)
    }
}

extension SecurityPolicy {
    /// A version of TLS.
    public struct TLSVersion: Sendable, Hashable, Codable, CustomStringConvertible {
        /// As OpenSSL writes it: `TLSv1.3`.
        public let description: String

        init(_ description: String) { self.description = description }

        /// RFC 5246.
        public static let tls12 = SecurityPolicy.TLSVersion("TLSv1.2")
        /// RFC 8446.
        public static let tls13 = SecurityPolicy.TLSVersion("TLSv1.3")

        /// True if this is one of the versions that a policy may name.
        var isKnown: Bool { self == .tls12 || self == .tls13 }
    }
}
