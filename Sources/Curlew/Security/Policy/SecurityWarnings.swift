internal import Logging

/// What a policy allows that its owner may not have meant; logged once for each policy, under `curlew.security`.
enum SecurityWarnings {
    static func log(_ policy: SecurityPolicy) {
        let found = ([policy] + policy.hosts.map(\.policy)).flatMap { warnings(for: $0) }
        guard !found.isEmpty else { return }
        let logger = Logger(label: "curlew.security")
        for warning in found { logger.warning("\(warning)") }
    }

    static func warnings(for policy: SecurityPolicy) -> [String] {
        var found: [String] = []
        let hasPins = !policy.pinnedCertificates.isEmpty || policy.pinnedKeys?.all.isEmpty == false
        if policy.pinningMode != .none, !hasPins { found.append("a policy that pins nothing accepts nobody") }
        if policy.pinningMode == .none, hasPins { found.append("pins are not looked at in the pinning mode none") }
        guard policy.allowsInvalidCertificates else { return found }
        switch policy.pinningMode {
        case .none where policy.validatesDomainName:
            found.append(
                "to check the name of a server with an invalid certificate, pin it; this policy accepts nobody")
        case .none: found.append("this policy accepts any server at all")
        case .publicKey:
            found.append("pinned keys with invalid certificates allowed: name, dates and issuers are not looked at")
        default: break
        }
        return found
    }
}
