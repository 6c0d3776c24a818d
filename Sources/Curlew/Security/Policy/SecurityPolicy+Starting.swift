// The points to start from, and the certificates of a directory.
extension SecurityPolicy {
    /// The certificate authorities of the system.
    public static let system = SecurityPolicy(anchors: .system)

    /// These certificates, in PEM, and no others. A server's own certificate may be among them.
    public static func anchors(pem: String) -> SecurityPolicy { SecurityPolicy(anchors: .pem(pem)) }

    /// These certificates and no others. A server's own certificate may be among them.
    public static func anchors(_ certificates: [Certificate]) -> SecurityPolicy {
        SecurityPolicy(anchors: .certificates(certificates))
    }

    /// The certificate authorities of the system, and one of these keys in the chain that they vouch for.
    ///
    /// Without a pin it accepts nobody.
    public static func pinned(_ keys: PinSet) -> SecurityPolicy {
        var policy = SecurityPolicy.system
        policy.pinningMode = .publicKey
        policy.pinnedKeys = keys
        return policy
    }

    /// What `AFSecurityPolicy policyWithPinningMode:withPinnedCertificates:` made.
    public static func pinned(_ mode: PinningMode, certificates: [Certificate]) -> SecurityPolicy {
        var policy = SecurityPolicy.system
        policy.pinningMode = mode
        policy.pinnedCertificates = certificates
        return policy
    }

    /// Most files that ``certificates(inDirectory:)`` reads.
    public static let directoryLimit = 10_000

    /// The certificates in the files of a directory whose names end in `.cer`, `.crt`, `.der` or `.pem`, sorted by name; each
    /// may be DER or PEM. Directories in it are not looked into. It blocks while it reads.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for a directory or a file that cannot be read, a
    ///   broken certificate, or more than ``directoryLimit`` files. AFNetworking passed over what it could not read, and
    ///   pinned less than was meant.
    public static func certificates(inDirectory path: String) throws -> [Certificate] {
        let endings = [".cer", ".crt", ".der", ".pem"]
        let names = try SecurityFile.names(inDirectory: path).filter { name in
            endings.contains { name.lowercased().hasSuffix($0) }
        }
        guard names.count <= directoryLimit else {
            throw CurlewError(.invalidTLSSetting, "\(path) has more than \(directoryLimit) certificates")
        }
        return try names.flatMap { try certificates(inFile: "\(path)/\($0)") }
    }

    /// The certificates in a file, DER or PEM, of 16 MiB at most.
    private static func certificates(inFile path: String) throws -> [Certificate] {
        let bytes = try SecurityFile.bytes(of: path, limit: 16 << 20)
        guard PEMText.isPEM(bytes) else { return [try Certificate(der: bytes)] }
        return try PEMText.blocks(in: bytes, labels: PEMText.certificateLabels).map { try Certificate(der: $0) }
    }
}
