package import HTTPTypes

/// Fields whose values are for one origin alone: masked in logs and commands, and taken off before another origin is asked.
package enum SecretFields {
    package static let names = Set(
        [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-API-Key", "X-Auth-Token",
            "X-Access-Token", "X-CSRF-Token", "X-XSRF-Token", "X-Amz-Security-Token", "X-Vault-Token",
        ].compactMap { HTTPField.Name($0) })

    private static let schemes: Set<String> = ["basic", "bearer", "digest", "negotiate", "token", "aws4-hmac-sha256"]

    /// The value with the secret in it replaced; the scheme of credentials stays.
    /// - Parameters:
    ///   - field: The field.
    ///   - marked: Names that the user has marked as secret.
    package static func masked(_ field: HTTPField, marked: Set<HTTPField.Name>) -> String {
        guard names.contains(field.name) else { return marked.contains(field.name) ? "***" : field.value }
        guard let scheme = field.value.split(separator: " ").first, schemes.contains(scheme.lowercased()),
            scheme.utf8.count < field.value.utf8.count
        else { return "***" }
        return "\(scheme) ***"
    }

    /// A field value with URIs in it, with `***` in the place of their user information, queries and fragments.
    static func withoutQueries(_ value: String) -> String {
        var bytes: [UInt8] = []
        /// The beginning of an authority, until a byte that ends it has come.
        var authority: Int?
        var isSkipping = false
        for byte in value.utf8 {
            if isSkipping {
                guard byte == UInt8(ascii: ">") else { continue }
                isSkipping = false
            }
            switch byte {
            case .questionMark, .numberSign:
                bytes.append(byte)
                bytes += "***".utf8
                isSkipping = true
                authority = nil
                continue
            case .at:
                if let start = authority {
                    bytes.removeSubrange(start...)
                    bytes += "***".utf8
                }
            case .slash:
                authority = bytes.last == .slash && authority == nil ? bytes.count + 1 : nil
            default: break
            }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTTPField.Name {
    /// True for fields whose values are URIs.
    var holdsReferences: Bool {
        switch canonicalName {
        case "location", "content-location", "referer", "refresh", "link": true
        default: false
        }
    }
}

/// The secret fields of a request that belong to the origin that it goes to, wherever the base of its session is. With their values:
/// a link that replaces one of them by a secret of the session's has not been granted that.
struct GrantedSecrets: Sendable {
    var origin: String
    var fields: Set<HTTPField> = []
}

extension RequestOptions {
    private enum GrantedSecretsKey: Key {
        static let defaultValue: GrantedSecrets? = nil
        static let affectsResponse = false
    }

    fileprivate var grantedSecrets: GrantedSecrets? {
        get { self[GrantedSecretsKey.self] }
        set { self[GrantedSecretsKey.self] = newValue }
    }
}

extension CurlewRequest {
    /// The names of fields that are secret in it.
    var secretNames: Set<HTTPField.Name> {
        let own = options.isAnySet ? options.secretFields : []
        return own.isEmpty ? SecretFields.names : SecretFields.names.union(own)
    }

    /// Notes that the secret fields that the caller has given the request are for the origin that it goes to, and no others.
    /// Noted once: what is added later is not the caller's.
    mutating func grantOwnSecrets() {
        let origin = uri.origin
        guard options.grantedSecrets?.origin != origin else { return }
        let secrets = secretNames
        options.grantedSecrets = GrantedSecrets(
            origin: origin, fields: Set(fields.filter { secrets.contains($0.name) }))
    }

    /// Notes that a secret field is for the origin that the request goes to: a link that knows the origin of its secrets does.
    mutating func grantSecret(_ name: HTTPField.Name) {
        let origin = uri.origin
        var granted = options.grantedSecrets ?? GrantedSecrets(origin: origin)
        if granted.origin != origin { granted = GrantedSecrets(origin: origin) }
        granted.fields.formUnion(fields.filter { $0.name == name })
        options.grantedSecrets = granted
    }

    /// The request without the secret fields that are for another origin.
    func withoutForeignSecrets() -> CurlewRequest {
        let secrets = secretNames
        let granted = options.grantedSecrets.flatMap { $0.origin == uri.origin ? $0.fields : nil } ?? []
        guard fields.contains(where: { secrets.contains($0.name) && !granted.contains($0) }) else { return self }
        var request = self
        request.fields = fields.filter { !secrets.contains($0.name) || granted.contains($0) }
        return request
    }

    /// The same request without its secrets, for a link that asks another origin than the caller did.
    ///
    /// Taken off, from fields and trailers, are Authorization, Proxy-Authorization, Cookie, the other fields that are known to hold
    /// secrets (X-API-Key, X-Auth-Token, X-Access-Token, X-CSRF-Token, X-XSRF-Token, X-Amz-Security-Token, X-Vault-Token) and
    /// those that ``RequestOptions/secretFields`` names; also the user information of the URI. Query and body stay as they are.
    /// ``Redirects`` does this by itself.
    ///
    /// ```swift
    /// Link { request, next in
    ///     do { return try await next(request) } catch let error as CurlewError where error.stage == .connecting {
    ///         var again = request.removingSecrets()
    ///         again.uri = backup
    ///         return try await next(again)
    ///     }
    /// }
    /// ```
    public func removingSecrets() -> CurlewRequest {
        var request = self
        for name in secretNames {
            request.fields[name] = nil
            request.trailers[name] = nil
        }
        request.uri = uri.withoutUserInformation
        if options.engineCredential != nil { request.options.engineCredential = nil }
        return request
    }
}
