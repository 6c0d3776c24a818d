import CurlewTesting
import CurlewTestingTraits

@testable import CurlewCore

/// The certificates and the interval of the tests of rotations.
enum RotationScene {
    /// The interval of a rotation, on a clock that the test sets.
    static let interval = Duration.seconds(10)

    /// A client's certificate.
    static func client(_ name: String, validity: HeldCertificate.Validity = .usual) throws -> HeldCertificate {
        try HeldCertificate(.init(commonName: name, validity: validity), issuer: TestChain.root.get())
    }

    static func identity(_ held: HeldCertificate) throws -> ClientIdentity {
        try ClientIdentity(pem: held.certificatePEM, key: held.privateKeyPEM)
    }
}

extension SecurityPolicy.Rotation.Update {
    /// The certificate of the new identity.
    var leaf: [UInt8]? {
        guard case .replaced(let material) = self else { return nil }
        return material.identity?.chain.first?.der
    }

    /// The error of unusable material.
    var refusal: CurlewError? {
        guard case .refused(let error) = self else { return nil }
        return error
    }
}
