import Curlew
import FoundationEssentials

// The code of the article on security, so that it is known to compile.

func pinnedPolicySnippet(inUse: String, reserve: String, pem: String) throws -> HTTPSession {
    let keys = try SecurityPolicy.PinSet([SecurityPolicy.Pin(inUse)], backups: [SecurityPolicy.Pin(reserve)])
    var configuration = SessionConfiguration()
    configuration.security = .pinned(keys)
    let api = try HTTPSession(baseURL: "https://api.example.com/v1/", configuration: configuration)
    return api
}

func pinnedAnchorsSnippet(pem: String, keys: SecurityPolicy.PinSet) -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.security = .anchors(pem: pem, pins: keys)
    return configuration
}

func migratedPolicySnippet(folder: String) throws -> SecurityPolicy {
    let certificates = try SecurityPolicy.certificates(inDirectory: folder)
    var policy = SecurityPolicy.pinned(by: .certificates(certificates))
    policy.allowsInvalidCertificates = true
    return policy
}

func hostPolicySnippet(pem: String, bag: [UInt8], passphrase: String) throws -> SecurityPolicy {
    var inside = SecurityPolicy.anchors(pem: pem)
    inside.identity = try ClientIdentity(pkcs12: bag, passphrase: passphrase)
    inside.minimumTLSVersion = .tls13

    var policy = SecurityPolicy.system
    policy.hosts = [SecurityPolicy.HostPolicy("*.internal.example", inside)]
    return policy
}

func rotatingFilesSnippet(base: String) throws -> HTTPSession {
    let rotation = try SecurityPolicy.Rotation(
        certificateFile: "/run/tls/tls.crt", keyFile: "/run/tls/tls.key", anchorsFile: "/run/tls/ca.crt")
    var policy = SecurityPolicy.system
    policy.rotation = rotation
    let api = try HTTPSession(baseURL: base, configuration: SessionConfiguration(security: policy))
    return api
}

protocol Vault: Sendable {
    func issue() async throws -> (certificate: String, key: String)
}

func rotatingProviderSnippet(
    first: SecurityPolicy.Rotation.Material, vault: any Vault
) throws -> SecurityPolicy.Rotation {
    let rotation = try SecurityPolicy.Rotation(initial: first, every: .seconds(60)) {
        let (certificate, key) = try await vault.issue()
        return SecurityPolicy.Rotation.Material(identity: try ClientIdentity(pem: certificate, key: key))
    }
    return rotation
}

func rotationUpdatesSnippet(_ rotation: SecurityPolicy.Rotation) async {
    for await update in rotation.updates {
        switch update {
        case .replaced(let material): print("now", material.identity?.chain.first as Any)
        case .refused(let error): print("kept the old one:", error)
        }
    }
}

func evaluatorSnippet() -> SecurityPolicy {
    var policy = SecurityPolicy.system
    policy.evaluator = SecurityPolicy.Evaluator { trust in
        if case .refused(.certificateExpired, _) = trust.verdict, trust.host == "old.example" { return .accept }
        return .deferToPolicy
    }
    return policy
}

func trustErrorSnippet(_ api: HTTPSession) async throws {
    do {
        _ = try await api.get("users/7")
    } catch let error as CurlewError where error.code == .pinMismatch {
        for certificate in error.serverTrust?.chain ?? [] { print(certificate) }
    }
}
