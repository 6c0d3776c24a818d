internal import Curlew

extension FieldRule {
    /// Whom to trust.
    static let security: [FieldRule] = [
        FieldRule("cacert") { field, order in order.security.anchorsFile = try field.string() },
        FieldRule("tls_min") { field, order in
            switch try field.string() {
            case "1.2": order.security.minimumVersion = .tls12
            case "1.3": order.security.minimumVersion = .tls13
            case let word: throw LineProblem.unsupported("tls_min \(word)")
            }
        },
        .word("tls_max", always: "1.3"),
        .flag("verify", always: true),
        .flag("verify_host", always: true),
        .word("pinning", always: "none"),
        .unsupported("pinned"),
        .unsupported("pins"),
        .unsupported("client_cert"),
        .unsupported("client_key"),
        .unsupported("crls"),
        .unsupported("max_depth"),
        .unsupported("time"),
        .word("ocsp", always: "off"),
        .flag("strict", always: false),
    ]
}

/// What becomes a session's ``SecurityPolicy``.
struct SecuritySettings: Sendable {
    /// Most that is read of a PEM file.
    static let fileLimit = 16 << 20

    var anchorsFile: String?
    var minimumVersion: TLSVersion?

    /// The policy, with its files read.
    func policy() async throws -> SecurityPolicy {
        var policy = SecurityPolicy.system
        if let anchorsFile { policy = .anchors(pem: try await text(of: anchorsFile)) }
        if let minimumVersion { policy.minimumTLSVersion = minimumVersion }
        return policy
    }

    private func text(of path: String) async throws -> String {
        guard let bytes = try? await FileReader(path: path).all(upTo: Self.fileLimit) else {
            throw LineProblem.unusable("the file \(path) cannot be read, or is larger than \(Self.fileLimit) bytes")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
