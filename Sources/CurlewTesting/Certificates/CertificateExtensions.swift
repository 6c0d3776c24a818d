#if TestKit
internal import COpenSSL

/// The extensions that a certificate's options request.
enum CertificateExtensions {
    /// The alternative names in DER; `nil` if there are none. The notation of x509v3_config(5) cannot express every
    /// name.
    static func alternativeNames(of options: HeldCertificate.Options) throws -> [UInt8]? {
        guard !options.alternativeNames.isEmpty else { return nil }
        return DER.sequence(try options.alternativeNames.map { try $0.encoded })
    }

    /// The other extensions, in the notation of x509v3_config(5).
    static func of(_ options: HeldCertificate.Options, isSelfSigned: Bool) -> [(identifier: Int32, value: String)] {
        var extensions = [(NID_basic_constraints, self.basicConstraints(options.authority))]
        let usage = options.keyUsage ?? self.usualKeyUsage(options)
        if !usage.isEmpty { extensions.append((NID_key_usage, (["critical"] + usage).joined(separator: ","))) }
        let extended = options.extendedKeyUsage ?? (options.authority.isAuthority ? [] : ["serverAuth", "clientAuth"])
        if !extended.isEmpty { extensions.append((NID_ext_key_usage, extended.joined(separator: ","))) }
        extensions.append((NID_subject_key_identifier, "hash"))
        if !isSelfSigned, options.namesAuthorityKey {
            extensions.append((NID_authority_key_identifier, "keyid:always"))
        }
        if !options.nameConstraints.isEmpty {
            let critical = options.nameConstraintsAreCritical ? ["critical"] : []
            extensions.append((NID_name_constraints, (critical + options.nameConstraints).joined(separator: ",")))
        }
        if options.requiresStapling { extensions.append((NID_tlsfeature, "status_request")) }
        return extensions
    }

    private static func basicConstraints(_ authority: HeldCertificate.Authority) -> String {
        "critical,CA:" + (authority.isAuthority ? "TRUE" : "FALSE")
            + (authority.pathLength.map { ",pathlen:\($0)" } ?? "")
    }

    private static func usualKeyUsage(_ options: HeldCertificate.Options) -> [String] {
        if options.authority.isAuthority { return ["keyCertSign", "cRLSign"] }
        if case .rsa = options.key.algorithm { return ["digitalSignature", "keyEncipherment"] }
        return ["digitalSignature"]
    }
}
#endif
