extension SecurityPolicy {
    /// A policy for some hosts (``SecurityPolicy/hosts``).
    public struct HostPolicy: Sendable, Hashable, Codable {
        /// The pattern: `example.com`, an address, or `*.example.com` for every name beneath it, at any depth.
        public var pattern: String
        /// The policy that replaces the enclosing one for these hosts. If it has ``SecurityPolicy/hosts`` itself,
        /// creating a session throws ``ErrorCode/invalidTLSSetting``.
        public var policy: SecurityPolicy

        public init(_ pattern: String, _ policy: SecurityPolicy) {
            self.pattern = pattern
            self.policy = policy
        }
    }
}

/// A parsed pattern.
struct HostPattern: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        case exactly(HostName)
        case beneath(String)
    }

    private let kind: Kind

    init(_ text: String) throws {
        if text.hasPrefix("*.") {
            guard let parent = HostName.plainName(Array(text.utf8.dropFirst(2)), allowsWildcard: false) else {
                throw CurlewError(.invalidTLSSetting, "the host pattern \(text) is not valid")
            }
            kind = .beneath("." + parent)
        } else {
            let bracketed = text.contains(":") && !text.hasPrefix("[") ? "[\(text)]" : text
            guard let host = HostName(host: bracketed) else {
                throw CurlewError(.invalidTLSSetting, "the host pattern \(text) is not valid")
            }
            if case .name(let name) = host, HostName.plainName(Array(name.utf8), allowsWildcard: false) == nil {
                throw CurlewError(.invalidTLSSetting, "the host pattern \(text) is not valid")
            }
            kind = .exactly(host)
        }
    }

    func matches(_ host: HostName) -> Bool {
        switch (kind, host) {
        case (.exactly(let wanted), _): wanted == host
        case (.beneath(let suffix), .name(let name)): name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count
        case (.beneath, .address): false
        }
    }
}

extension SecurityPolicy {
    /// True if the policy accepts only servers whose certificate was verified for the host. False with an evaluator, as
    /// its decisions are unknown.
    func verifies(_ host: String) -> Bool {
        let policy = policy(for: host)
        return !policy.allowsInvalidCertificates && policy.validatesDomainName && policy.evaluator == nil
    }

    /// True if the policy of a host permits TLS 1.3, which HTTP/3 needs.
    package func allowsHTTP3(to host: String) -> Bool { policy(for: host).maximumTLSVersion == .tls13 }

    private func policy(for host: String) -> SecurityPolicy {
        guard !hosts.isEmpty, let name = HostName(host: host) else { return self }
        return hosts.first { (try? HostPattern($0.pattern))?.matches(name) ?? false }?.policy ?? self
    }

    /// True if ``verifies(_:)`` is true for every host.
    var verifiesEveryHost: Bool {
        ([self] + hosts.map(\.policy)).allSatisfy {
            !$0.allowsInvalidCertificates && $0.validatesDomainName && $0.evaluator == nil
        }
    }
}
