internal import COpenSSL

/// The name constraints of an authority (RFC 5280 §4.2.1.10) for DNS names. OpenSSL applies them; this type is for
/// further checks.
struct NameConstraints {
    /// The constraints of one certificate.
    enum Reading {
        case none
        case found(NameConstraints)
        /// The constraints cannot be applied, for this reason.
        case broken(String)
    }

    /// The excluded DNS names, in lower case.
    private(set) var excludedHosts: [String] = []
    /// True if a DNS name is permitted or excluded.
    private(set) var areAboutHosts = false

    /// Adds the DNS names of one list of subtrees.
    /// - Returns: True if each name is valid or empty; an empty name means every name.
    private mutating func read(_ trees: OpaquePointer?, areExcluded: Bool) -> Bool {
        for index in 0..<curlew_subtree_count(trees) {
            guard let trees, let base = curlew_subtree_base(trees, index) else { return false }
            guard curlew_name_kind(base) == GEN_DNS else { continue }
            guard let string = curlew_name_string(base) else { return false }
            let bytes = UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string)))
            areAboutHosts = true
            guard !bytes.isEmpty else { continue }
            guard let name = HostName.plainName(bytes, allowsWildcard: false) else { return false }
            if areExcluded { excludedHosts.append(name) }
        }
        return true
    }
}

extension NameConstraints.Reading {
    init(_ certificate: CertificateHandle) {
        var critical: Int32 = -1
        guard let raw = curlew_name_constraints(certificate.raw, &critical) else {
            self = critical == -1 ? .none : .broken("its name constraints cannot be read")
            return
        }
        defer { curlew_name_constraints_free(raw) }
        let (permitted, excluded) = (raw.pointee.permittedSubtrees, raw.pointee.excludedSubtrees)
        guard curlew_subtree_count(permitted) > 0 || curlew_subtree_count(excluded) > 0 else {
            self = .broken("its name constraints permit nothing and exclude nothing")
            return
        }
        var constraints = NameConstraints()
        guard constraints.read(permitted, areExcluded: false), constraints.read(excluded, areExcluded: true) else {
            self = .broken("its name constraints are no DNS names")
            return
        }
        self = .found(constraints)
    }
}
