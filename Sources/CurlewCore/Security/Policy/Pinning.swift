extension SecurityPolicy {
    /// The keys or certificates of which one must be in the server's chain.
    ///
    /// ```swift
    /// var policy = SecurityPolicy.anchors(pem: pem)
    /// let pins = SecurityPolicy.PinSet([try SecurityPolicy.Pin(inUse)], backups: [try SecurityPolicy.Pin(reserve)])
    /// policy.pinning = .keys(pins)
    /// ```
    ///
    /// Pinning without any key or certificate accepts no server.
    public struct Pinning: Sendable, Hashable, Codable {
        enum Kind: Sendable, Hashable, Codable {
            case none
            case keys(PinSet, of: [CurlewCertificate])
            case certificates([CurlewCertificate])
        }

        let kind: Kind

        /// No pinning: a server is trusted if its chain ends at an anchor. `AFSSLPinningModeNone`.
        public static let none = Pinning(kind: .none)

        /// Pins public keys: one of them must be in the chain.
        /// - Parameters:
        ///   - pins: The keys.
        ///   - certificates: Certificates whose keys are pinned in addition; these pins do not expire.
        public static func keys(_ pins: PinSet, of certificates: [CurlewCertificate] = []) -> Pinning {
            Pinning(kind: .keys(pins, of: certificates))
        }

        /// Pins the public keys of certificates: one of them must be in the chain. `AFSSLPinningModePublicKey`.
        public static func keys(of certificates: [CurlewCertificate]) -> Pinning {
            Pinning(kind: .keys(PinSet([]), of: certificates))
        }

        /// Pins certificates: the path must be valid with them as the only anchors, and one of them must be on it.
        /// Unless invalid certificates are allowed, a path to the policy's own anchors must be valid, too.
        /// `AFSSLPinningModeCertificate`.
        public static func certificates(_ certificates: [CurlewCertificate]) -> Pinning {
            Pinning(kind: .certificates(certificates))
        }

        /// The certificates that are pinned as such or by their keys.
        var certificates: [CurlewCertificate] {
            switch kind {
            case .none: []
            case .keys(_, let certificates), .certificates(let certificates): certificates
            }
        }

        /// The pinned keys, besides those of the certificates.
        var pins: PinSet? {
            guard case .keys(let pins, _) = kind else { return nil }
            return pins
        }

        /// True if neither a key nor a certificate is pinned.
        var isEmpty: Bool { certificates.isEmpty && pins?.all.isEmpty != false }
    }
}
