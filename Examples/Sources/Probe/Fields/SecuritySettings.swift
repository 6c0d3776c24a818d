internal import Curlew
internal import FoundationEssentials

/// The settings of a session's ``SecurityPolicy``.
struct SecuritySettings: Sendable {
    /// The maximum size of a PEM file.
    static let fileLimit = 16 << 20

    var anchorsFile: String?
    var allowsInvalidCertificates = false
    var validatesDomainName = true
    var pinningMode = PinningMode.none
    var pinnedFile: String?
    var pins: [String] = []
    var identityFile: String?
    var identityKeyFile: String?
    var revocationFile: String?
    var intermediateLimit: Int?
    var validationDate: Date?
    var stapling = SecurityPolicy.Stapling.off
    var isStrict = false
    var minimumVersion: SecurityPolicy.TLSVersion?
    var maximumVersion: SecurityPolicy.TLSVersion?

    /// The names of AFNetworking's pinning modes.
    enum PinningMode: String {
        case none
        case publicKey = "public-key"
        case certificate
    }

    /// The policy, with its files loaded.
    func policy() async throws -> SecurityPolicy {
        var policy = SecurityPolicy.system
        if let anchorsFile { policy = .anchors(pem: try await text(of: anchorsFile)) }
        policy.allowsInvalidCertificates = allowsInvalidCertificates
        policy.validatesDomainName = validatesDomainName
        try await pin(&policy)
        if let identityFile {
            var key: String?
            if let identityKeyFile { key = try await text(of: identityKeyFile) }
            policy.identity = try ClientIdentity(pem: try await text(of: identityFile), key: key)
        } else if identityKeyFile != nil {
            throw LineProblem.unusable("there is a client_key, and no client_cert")
        }
        if let revocationFile {
            policy.revocationLists = try SecurityPolicy.RevocationLists([Array(try await text(of: revocationFile).utf8)]
            )
        }
        if let intermediateLimit { policy.intermediateLimit = intermediateLimit }
        policy.validationDate = validationDate
        policy.stapling = stapling
        policy.isStrict = isStrict
        if let minimumVersion { policy.minimumTLSVersion = minimumVersion }
        if let maximumVersion { policy.maximumTLSVersion = maximumVersion }
        return policy
    }

    /// Pins without a pinning mode are public key pins.
    private func pin(_ policy: inout SecurityPolicy) async throws {
        var certificates: [CurlewCertificate] = []
        if let pinnedFile { certificates = try CurlewCertificate.all(inPEM: try await text(of: pinnedFile)) }
        let keys = SecurityPolicy.PinSet(try pins.map { try SecurityPolicy.Pin($0) })
        switch pinningMode {
        // The pinning mode `none` of AFNetworking has certificates, but does not compare them.
        case .none: policy.pinning = pins.isEmpty ? .none : .keys(keys, of: certificates)
        case .publicKey: policy.pinning = .keys(keys, of: certificates)
        case .certificate:
            guard pins.isEmpty else { throw LineProblem.unusable("pins are keys, and the pinning is by certificate") }
            policy.pinning = .certificates(certificates)
        }
    }

    private func text(of path: String) async throws -> String {
        guard let bytes = try? await FileReader(path: path).all(upTo: Self.fileLimit) else {
            throw LineProblem.unusable("the file \(path) cannot be read, or is larger than \(Self.fileLimit) bytes")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
