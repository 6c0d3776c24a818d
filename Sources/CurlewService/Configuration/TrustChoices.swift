#if Service
internal import Curlew

extension SettingsDraft {
    /// The keys of a security policy that depend on a file or on each other.
    struct Trust: Sendable {
        var anchorsFile: String?
        var certificateFile: String?
        var keyFile: String?
        var keyPassphrase: String?
        var reloadInterval: Duration?
        var pins: [SecurityPolicy.Pin] = []
        var backupPins: [SecurityPolicy.Pin] = []
        var revocationFiles: [String] = []
        var revocationScope: SecurityPolicy.RevocationLists.Scope?

        func policy(from policy: SecurityPolicy) throws -> SecurityPolicy {
            var policy = policy
            if let anchorsFile { policy = policy.replacingAnchors(try anchors(in: anchorsFile)) }
            if let identity = try identity() { policy.identity = identity }
            if let rotation = try rotation() { policy.rotation = rotation }
            if !pins.isEmpty {
                policy.pinning = .keys(SecurityPolicy.PinSet(pins, backups: backupPins))
            } else if !backupPins.isEmpty {
                throw SettingsProblem("security.backup-pins", message: "keys in reserve need security.pins beside them")
            }
            if !revocationFiles.isEmpty {
                do {
                    policy.revocationLists = try .init(files: revocationFiles, scope: revocationScope ?? .leaf)
                } catch let error as CurlewError {
                    throw SettingsProblem("security.revocation-files", cause: error)
                }
            } else if revocationScope != nil {
                throw SettingsProblem(
                    "security.revocation-scope", message: "it needs security.revocation-files beside it")
            }
            return policy
        }

        private func anchors(in file: String) throws -> [CurlewCertificate] {
            do {
                let certificates = try SecurityPolicy.certificates(inFile: file)
                guard !certificates.isEmpty else {
                    throw CurlewError(.invalidTLSSetting, "\(file) has no certificate")
                }
                return certificates
            } catch let error as CurlewError {
                throw SettingsProblem("security.anchors-file", cause: error)
            }
        }

        /// Makes the rotation of the files. They have been read before, so that their errors name their keys.
        private func rotation() throws -> SecurityPolicy.Rotation? {
            guard let reloadInterval else { return nil }
            guard certificateFile != nil || anchorsFile != nil else {
                throw SettingsProblem(
                    "security.reload-interval",
                    message: "it needs security.certificate-file or security.anchors-file beside it")
            }
            do {
                return try SecurityPolicy.Rotation(
                    certificateFile: certificateFile, keyFile: keyFile, passphrase: keyPassphrase,
                    anchorsFile: anchorsFile, every: reloadInterval)
            } catch let error as CurlewError {
                throw SettingsProblem("security.reload-interval", cause: error)
            }
        }

        private func identity() throws -> ClientIdentity? {
            guard let certificateFile else {
                if keyFile == nil, keyPassphrase == nil { return nil }
                throw SettingsProblem(
                    keyFile == nil ? "security.key-passphrase" : "security.key-file",
                    message: "it needs security.certificate-file beside it")
            }
            let certificates = try SettingsFile.text(of: certificateFile, for: "security.certificate-file")
            let key = try keyFile.map { try SettingsFile.text(of: $0, for: "security.key-file") }
            do {
                return try ClientIdentity(pem: certificates, key: key, passphrase: keyPassphrase)
            } catch let error as CurlewError {
                throw SettingsProblem("security.certificate-file", "security.key-file", cause: error)
            }
        }
    }
}

/// A reader of files that keys name.
enum SettingsFile {
    /// The text of a file of at most 1 MiB.
    /// - Throws: ``SettingsProblem`` for a file that cannot be read.
    static func text(of path: String, for key: String) throws -> String {
        do {
            return String(decoding: try SecurityFile.bytes(of: path, limit: 1 << 20), as: UTF8.self)
        } catch let error as CurlewError {
            throw SettingsProblem(key, cause: error)
        }
    }
}
#endif
