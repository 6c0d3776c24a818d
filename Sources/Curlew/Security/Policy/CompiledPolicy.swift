internal import Logging

/// A policy with those for single hosts, read, and known by a number of its own.
///
/// Equal policies have one object as long as anybody holds it, be it a connection; so connections, which libcurl tells
/// apart by ``identifier``, serve all who have that policy and nobody else.
final class CompiledPolicy: Sendable {
    /// The number; never given twice in a process.
    let number: UInt64
    private let rules: TrustRules
    private let hosts: [(HostPattern, TrustRules)]
    /// True if the engine may look at names too: it is laxer, so it says no only where we do.
    let validatesEveryName: Bool
    /// True if it pins anything for some host.
    let isPinning: Bool

    private init(_ policy: SecurityPolicy, number: UInt64) throws {
        self.number = number
        rules = try TrustRules(policy)
        guard policy.hosts.allSatisfy(\.policy.hosts.isEmpty) else {
            throw CurlewError(.invalidTLSSetting, "the policy for a host has policies for hosts of its own")
        }
        hosts = try policy.hosts.map { (try HostPattern($0.pattern), try TrustRules($0.policy)) }
        isPinning = ([policy] + policy.hosts.map(\.policy)).contains { $0.pinning != .none }
        validatesEveryName = ([policy] + policy.hosts.map(\.policy)).allSatisfy {
            $0.validatesDomainName && !$0.allowsInvalidCertificates && $0.evaluator == nil
        }
    }

    /// True if the policy pins anything for the host, so that it must not be asked in the clear.
    func pins(_ host: String) -> Bool {
        guard isPinning else { return false }
        return HostName(host: host).map { rules(for: $0) }?.isPinning ?? rules.isPinning
    }

    /// The rules for a host.
    func rules(for host: HostName) -> TrustRules { hosts.first { $0.0.matches(host) }?.1 ?? rules }

    /// Prepares for a handshake with any host: the name look-up and the connection take about as long as reading the system's
    /// certificate authorities, which a process without TLS never needs.
    func prepareForHandshake() {
        rules.preloadAnchors()
        for (_, rules) in hosts { rules.preloadAnchors() }
    }

    /// The option, of those that libcurl compares before it uses a connection or a TLS session again, that tells this policy
    /// from others: a folder of certificates that cannot be, and that nobody looks into (`CURLOPT_CAPATH`).
    var identifier: String { "/dev/null/curlew-policy-\(number)" }

    // MARK: One object a policy

    private struct Registry {
        var entries: [SecurityPolicy: Entry] = [:]
        var lastNumber: UInt64 = 0
        var purgeAt = 64
    }

    private struct Entry {
        weak var policy: CompiledPolicy?
    }

    private static let registry = Guarded(Registry())

    /// - Parameter policy: One without a rotation, as ``SecurityPolicy/settled`` makes it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for what cannot be used.
    static func of(_ policy: SecurityPolicy) throws -> CompiledPolicy {
        if let known = registry.withLock({ $0.entries[policy]?.policy }) { return known }
        let number = registry.withLock { registry in
            registry.lastNumber += 1
            return registry.lastNumber
        }
        let made = try CompiledPolicy(policy, number: number)
        SecurityWarnings.log(policy)
        return registry.withLock { registry in
            // Another thread may have been quicker.
            if let known = registry.entries[policy]?.policy { return known }
            if registry.entries.count >= registry.purgeAt {
                registry.entries = registry.entries.filter { $0.value.policy != nil }
                registry.purgeAt = max(64, registry.entries.count * 2)
            }
            registry.entries[policy] = Entry(policy: made)
            return made
        }
    }
}

/// Warnings about what a policy allows that its owner may not have meant; logged once for each policy, to the logger of the task
/// that brought it.
enum SecurityWarnings {
    static func log(_ policy: SecurityPolicy) {
        let found = ([policy] + policy.hosts.map(\.policy)).flatMap { warnings(for: $0) }
        guard !found.isEmpty else { return }
        for warning in found { Logger.current.warning("\(warning)") }
    }

    static func warnings(for policy: SecurityPolicy) -> [String] {
        var found: [String] = []
        if policy.pinning != .none, policy.pinning.isEmpty { found.append("a policy that pins nothing accepts nobody") }
        guard policy.allowsInvalidCertificates else { return found }
        switch policy.pinning.kind {
        case .none where policy.validatesDomainName:
            found.append(
                "to check the name of a server with an invalid certificate, pin it; this policy accepts nobody")
        case .none: found.append("this policy accepts any server at all")
        case .keys:
            found.append("pinned keys with invalid certificates allowed: name, dates and issuers are not looked at")
        case .certificates: break
        }
        return found
    }
}
