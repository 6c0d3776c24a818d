package import HTTPTypes

/// Fields whose values are for one origin alone: masked in logs and commands, taken off before another origin is asked, and credentials
/// for a cache.
///
/// A field is secret by its name: one of a list, or one with a word that stands for a secret, such as `Private-Token` and `X-Api-Key`.
/// A name that is taken for secret without need costs a field after a redirect to another origin. One that is missed costs a secret.
package enum SecretFields {
    /// The names that are secret whatever their words.
    package static let names = Set(
        [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-API-Key", "X-Auth-Token",
            "X-Access-Token", "X-CSRF-Token", "X-XSRF-Token", "X-Amz-Security-Token", "X-Vault-Token",
        ].compactMap { HTTPField.Name($0) })

    /// True for a field that is known to hold a secret, or whose name says so.
    package static func isSecret(_ name: HTTPField.Name) -> Bool {
        if names.contains(name) { return true }
        if common.contains(name) { return false }
        let words = words(of: name)
        return words.contains { isSecret($0) } || endsInSecretKey(words)
    }

    /// True for a field that is secret, or whose name says that it tells one user from another.
    package static func identifiesUser(_ name: HTTPField.Name) -> Bool {
        if names.contains(name) { return true }
        if common.contains(name) { return false }
        return isSecret(name) || words(of: name).contains { word in users.contains { word.elementsEqual($0.utf8) } }
    }

    /// Frequent fields, and fields whose names have such a word though they hold no secret.
    private static let common = Set(
        """
        accept accept-encoding accept-language access-control-allow-credentials authentication-info cache-control cache-key connection
        content-encoding content-length content-type date etag expires host idempotency-key if-modified-since if-none-match if-range
        last-modified location partition-key pragma proxy-authenticate proxy-authentication-info range routing-key sec-fetch-user
        sec-websocket-key server surrogate-key user-agent vary www-authenticate x-user-agent
        """
        .split(whereSeparator: \.isWhitespace).compactMap { HTTPField.Name(String($0)) })

    /// The ends of words that stand for a secret.
    private static let secretEndings = words(
        """
        accesskey apikey assertion auth cookie cookie2 credential credentials dpop jwt passphrase passwd password secret session
        sessionid token
        """)

    /// The words that stand for a user, or for a mark that a user is known by.
    private static let users = words(
        """
        account cert certificate clientcert customer email from identity member principal sid signature tenant uid user userid username
        users
        """)

    private static func words(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    private static func words(of name: HTTPField.Name) -> [Substring.UTF8View] {
        name.canonicalName.utf8.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    private static func isSecret(_ word: Substring.UTF8View) -> Bool {
        // `Authorization` and `Authenticated`, but not `Author` and `Authority`.
        if word.starts(with: "authoriz".utf8) || word.starts(with: "authent".utf8) { return true }
        return secretEndings.contains { word.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }

    /// True for `X-Functions-Key` and `Ocp-Apim-Subscription-Key`. A key alone is none.
    private static func endsInSecretKey(_ words: [Substring.UTF8View]) -> Bool {
        words.count > 1 && words.last?.elementsEqual("key".utf8) == true
    }

    private static let schemes: Set<String> = ["basic", "bearer", "digest", "negotiate", "token", "aws4-hmac-sha256"]

    /// The value with the secret in it replaced; the scheme of credentials stays.
    /// - Parameters:
    ///   - field: The field.
    ///   - marked: Names that the user has marked as secret.
    package static func masked(_ field: HTTPField, marked: Set<HTTPField.Name>) -> String {
        guard names.contains(field.name) else {
            return marked.contains(field.name) || isSecret(field.name) ? "***" : field.value
        }
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
    var fields: [HTTPField] = []

    func contains(_ field: HTTPField) -> Bool { fields.contains { $0.hasSameBytes(as: field) } }
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
    /// True if a field of the name is secret, by its name or by the caller's word.
    func isSecret(_ name: HTTPField.Name) -> Bool {
        SecretFields.isSecret(name) || options.isAnySet && options.secretFields.contains(name)
    }

    /// Notes that the secret fields that the caller has given the request are for the origin that it goes to, and no others.
    /// Noted once: what is added later is not the caller's.
    mutating func grantOwnSecrets() {
        let origin = uri.origin
        guard options.grantedSecrets?.origin != origin else { return }
        options.grantedSecrets = GrantedSecrets(origin: origin, fields: fields.filter { isSecret($0.name) })
    }

    /// Notes that a secret field is for the origin that the request goes to: a link that knows the origin of its secrets does.
    package mutating func grantSecret(_ name: HTTPField.Name) {
        let origin = uri.origin
        var granted = options.grantedSecrets ?? GrantedSecrets(origin: origin)
        if granted.origin != origin { granted = GrantedSecrets(origin: origin) }
        granted.fields += fields.filter { $0.name == name }
        options.grantedSecrets = granted
    }

    /// The request without the secret fields that are for another origin.
    func withoutForeignSecrets() -> CurlewRequest {
        let granted = options.grantedSecrets.flatMap { $0.origin == uri.origin ? $0 : nil }
        let isForeign = { (field: HTTPField) in self.isSecret(field.name) && granted?.contains(field) != true }
        guard fields.contains(where: isForeign) else { return self }
        var request = self
        request.fields.removeAll(where: isForeign)
        return request
    }

    /// The same request without its secrets, for a link that asks another origin than the caller did.
    ///
    /// Taken off, from fields and trailers, are Authorization, Proxy-Authorization, Cookie, the other fields whose names say that they
    /// hold secrets, such as X-Api-Key, Private-Token and X-Functions-Key, and those that ``RequestOptions/secretFields`` names; also
    /// the user information of the URI. Query and body stay as they are.
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
        request.fields.removeAll { isSecret($0.name) }
        request.trailers.removeAll { isSecret($0.name) }
        request.uri = uri.withoutUserInformation
        if options.engineCredential != nil { request.options.engineCredential = nil }
        return request
    }
}
