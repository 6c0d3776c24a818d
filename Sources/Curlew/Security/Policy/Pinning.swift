extension SecurityPolicy {
    /// The part of the server's chain that has to be known beforehand, with the keys or certificates that are known.
    ///
    /// ```swift
    /// var policy = SecurityPolicy.anchors(pem: pem)
    /// policy.pinning = .keys(try SecurityPolicy.PinSet([SecurityPolicy.Pin(inUse)], backups: [SecurityPolicy.Pin(reserve)]))
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

        /// No pinning: trusted is the server that an anchor vouches for. `AFSSLPinningModeNone`.
        public static let none = Pinning(kind: .none)

        /// Public keys, one of which has to be in the chain.
        /// - Parameters:
        ///   - pins: The keys.
        ///   - certificates: Certificates whose keys are pinned besides, without an end.
        public static func keys(_ pins: PinSet, of certificates: [CurlewCertificate] = []) -> Pinning {
            Pinning(kind: .keys(pins, of: certificates))
        }

        /// The public keys of certificates, one of which has to be in the chain. `AFSSLPinningModePublicKey`.
        public static func keys(of certificates: [CurlewCertificate]) -> Pinning {
            Pinning(kind: .keys(PinSet([]), of: certificates))
        }

        /// Certificates: they are the only anchors, and one of them has to be in the chain. `AFSSLPinningModeCertificate`.
        public static func certificates(_ certificates: [CurlewCertificate]) -> Pinning {
            Pinning(kind: .certificates(certificates))
        }

        /// The certificates, as anchors or for their keys.
        var certificates: [CurlewCertificate] {
            switch kind {
            case .none: []
            case .keys(_, let certificates), .certificates(let certificates): certificates
            }
        }

        /// The keys besides those of the certificates.
        var pins: PinSet? {
            guard case .keys(let pins, _) = kind else { return nil }
            return pins
        }

        /// True if neither a key nor a certificate is known.
        var isEmpty: Bool { certificates.isEmpty && pins?.all.isEmpty != false }
    }
}
