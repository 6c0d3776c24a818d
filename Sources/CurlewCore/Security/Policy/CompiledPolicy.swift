internal import Logging

/// A policy and its host policies in parsed form, identified by a number.
///
/// Equal policies share one object while a session or connection retains it. libcurl distinguishes connections by
/// ``identifier``, so a connection serves exactly the requests with its policy.
final class CompiledPolicy: Sendable {
    /// The number, unique in the process.
    let number: UInt64
    private let rules: TrustRules
    private let hosts: [(HostPattern, TrustRules)]
    /// True if the engine may verify names too: its check is laxer, so it never refuses more.
    let validatesEveryName: Bool
    /// True if the policy pins keys or certificates for any host.
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

    /// True if the policy pins keys or certificates for the host. Then the host must not be contacted without TLS.
    func pins(_ host: String) -> Bool {
        guard isPinning else { return false }
        return HostName(host: host).map { rules(for: $0) }?.isPinning ?? rules.isPinning
    }

    /// The rules for a host.
    func rules(for host: HostName) -> TrustRules { hosts.first { $0.0.matches(host) }?.1 ?? rules }

    /// Prepares for a handshake with any host. Reading the system's certificate authorities takes about as long as the
    /// name look-up and the connection, and a process without TLS never needs them.
    func prepareForHandshake() {
        rules.preloadAnchors()
        for (_, rules) in hosts { rules.preloadAnchors() }
    }

    /// The value of `CURLOPT_CAPATH` that identifies the policy: a directory that cannot exist and is never read.
    /// libcurl compares this option before it reuses a connection or a TLS session.
    var identifier: String { "/dev/null/curlew-policy-\(number)" }

    // MARK: Registry

    private struct Registry {
        var entries: [SecurityPolicy: Entry] = [:]
        var lastNumber: UInt64 = 0
        var purgeAt = 64
    }

    private struct Entry {
        weak var policy: CompiledPolicy?
    }

    private static let registry = Guarded(Registry())

    /// - Parameter policy: A policy without a rotation, as ``SecurityPolicy/settled`` returns it.
    /// - Throws: ``CurlewError`` with ``ErrorCode/invalidTLSSetting`` for invalid settings.
    static func of(_ policy: SecurityPolicy) throws -> CompiledPolicy {
        if let known = registry.withLock({ $0.entries[policy]?.policy }) { return known }
        let number = registry.withLock { registry in
            registry.lastNumber += 1
            return registry.lastNumber
        }
        let made = try CompiledPolicy(policy, number: number)
        SecurityWarnings.log(policy)
        return registry.withLock { registry in
            // Another thread may have compiled the policy meanwhile.
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

/// Warnings about unsafe or useless settings of a policy. They are logged once for each policy, to the logger of the
/// task that first uses it.
enum SecurityWarnings {
    static func log(_ policy: SecurityPolicy) {
        let found = ([policy] + policy.hosts.map(\.policy)).flatMap { warnings(for: $0) }
        guard !found.isEmpty else { return }
        for warning in found { Logger.current.warning("\(warning)") }
    }

    static func warnings(for policy: SecurityPolicy) -> [String] {
        var found: [String] = []
        if policy.pinning != .none, policy.pinning.isEmpty {
            found.append("a policy that pins nothing accepts no server")
        }
        guard policy.allowsInvalidCertificates else { return found }
        switch policy.pinning.kind {
        case .none where policy.validatesDomainName:
            found.append(
                "to check the name of a server with an invalid certificate, pin it; this policy accepts no server")
        case .none: found.append("this policy accepts every server")
        case .keys:
            found.append("pinned keys with invalid certificates allowed: name, dates and issuers are not checked")
        case .certificates: break
        }
        return found
    }
}
