package import HTTPTypes

/// Fields whose values belong to a single origin. They are masked in logs and commands, removed before a request to
/// another origin, and credentials for a cache.
///
/// The name of a field decides: it is in a list, or contains a word for a secret, such as `Private-Token` and
/// `X-Api-Key`. A harmless field that is treated as secret is only missing after a redirect to another origin. An
/// unrecognized secret would be sent there.
package enum SecretFields {
    /// The names that are secret regardless of their words.
    package static let names = Set(
        [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-API-Key", "X-Auth-Token",
            "X-Access-Token", "X-CSRF-Token", "X-XSRF-Token", "X-Amz-Security-Token", "X-Vault-Token",
        ].compactMap { HTTPField.Name($0) })

    /// True for a field that holds a secret according to the list or the words of its name.
    package static func isSecret(_ name: HTTPField.Name) -> Bool {
        if names.contains(name) { return true }
        if common.contains(name) { return false }
        let words = words(of: name)
        return words.contains { isSecret($0) } || endsInSecretKey(words)
    }

    /// True for a field that is secret, or that identifies a user according to the words of its name.
    package static func identifiesUser(_ name: HTTPField.Name) -> Bool {
        if names.contains(name) { return true }
        if common.contains(name) { return false }
        return isSecret(name) || words(of: name).contains { word in users.contains { word.elementsEqual($0.utf8) } }
    }

    /// Frequent fields, and fields without secrets whose names contain a word for a secret.
    private static let common = Set(
        """
        accept accept-encoding accept-language access-control-allow-credentials authentication-info cache-control cache-key connection
        content-encoding content-length content-type date etag expires host idempotency-key if-modified-since if-none-match if-range
        last-modified location partition-key pragma proxy-authenticate proxy-authentication-info range routing-key sec-fetch-user
        sec-websocket-key server surrogate-key user-agent vary www-authenticate x-user-agent
        """
        .split(whereSeparator: \.isWhitespace).compactMap { HTTPField.Name(String($0)) })

    /// The endings of words for a secret.
    private static let secretEndings = words(
        """
        accesskey apikey assertion auth cookie cookie2 credential credentials dpop jwt passphrase passwd password secret session
        sessionid signature token
        """)

    /// The words for a user, or for an attribute that identifies a user.
    private static let users = words(
        """
        account cert certificate clientcert customer email from identity member principal sid tenant uid user userid username
        users
        """)

    private static func words(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    private static func words(of name: HTTPField.Name) -> [Substring.UTF8View] {
        name.canonicalName.utf8.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    private static func isSecret(_ word: Substring.UTF8View) -> Bool {
        // This matches `Authorization` and `Authenticated`, but not `Author` and `Authority`.
        if word.starts(with: "authoriz".utf8) || word.starts(with: "authent".utf8) { return true }
        return secretEndings.contains { word.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }

    /// True for `X-Functions-Key` and `Ocp-Apim-Subscription-Key`. The name `Key` alone is not secret.
    private static func endsInSecretKey(_ words: [Substring.UTF8View]) -> Bool {
        words.count > 1 && words.last?.elementsEqual("key".utf8) == true
    }

    private static let schemes: Set<String> = ["basic", "bearer", "digest", "negotiate", "token", "aws4-hmac-sha256"]

    /// The value with its secret replaced; the scheme of credentials is kept.
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

    /// A field value that contains URIs, with `***` for their user information, queries and fragments.
    static func withoutQueries(_ value: String) -> String {
        var bytes: [UInt8] = []
        /// The beginning of an authority whose end has not been found yet.
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

/// The secret fields of a request that may be sent to its origin, also if the session's base is elsewhere. The values
/// are stored too: if a link replaces such a field by a secret of the session, the grant does not apply.
struct GrantedSecrets: Sendable {
    var origin: String
    var fields: [HTTPField] = []
    /// The Cookie field with the jar's cookies alone, which replaces one with foreign cookies.
    var ownCookies: HTTPField?

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
    /// True if a field with the name is secret, by the name or by ``RequestOptions/secretFields``.
    package func isSecret(_ name: HTTPField.Name) -> Bool {
        SecretFields.isSecret(name) || options.isAnySet && options.secretFields.contains(name)
    }

    /// Records that the secret fields in the caller's request may be sent to the request's origin only. The first call
    /// counts: fields that are added later are not the caller's.
    mutating func grantOwnSecrets() {
        let origin = uri.origin
        guard options.grantedSecrets?.origin != origin else { return }
        let own = [fields, trailers].flatMap { $0.filter { isSecret($0.name) } }
        options.grantedSecrets = GrantedSecrets(origin: origin, fields: own)
    }

    /// Records that a secret field may be sent to the request's origin. A link that knows the origin of its secrets
    /// calls it.
    package mutating func grantSecret(_ name: HTTPField.Name) {
        let origin = uri.origin
        var granted = options.grantedSecrets ?? GrantedSecrets(origin: origin)
        if granted.origin != origin { granted = GrantedSecrets(origin: origin) }
        granted.fields += fields.filter { $0.name == name }
        options.grantedSecrets = granted
    }

    /// True if all fields with the name may be sent to the request's origin, or if there is none.
    func hasGranted(_ name: HTTPField.Name) -> Bool {
        let present = fields.filter { $0.name == name }
        guard !present.isEmpty else { return true }
        guard let granted = options.grantedSecrets, granted.origin == uri.origin else { return false }
        return present.allSatisfy { granted.contains($0) }
    }

    /// Records the jar's cookies, which may be sent to the request's origin although other cookies may not.
    mutating func grantCookies(_ field: HTTPField?) {
        let origin = uri.origin
        var granted = options.grantedSecrets ?? GrantedSecrets(origin: origin)
        if granted.origin != origin { granted = GrantedSecrets(origin: origin) }
        granted.ownCookies = field
        options.grantedSecrets = granted
    }

    /// The request without the secret fields and trailers of another origin.
    func withoutForeignSecrets() -> CurlewRequest {
        let granted = options.grantedSecrets.flatMap { $0.origin == uri.origin ? $0 : nil }
        let isForeign = { (field: HTTPField) in self.isSecret(field.name) && granted?.contains(field) != true }
        guard fields.contains(where: isForeign) || trailers.contains(where: isForeign) else { return self }
        var request = self
        request.fields.removeAll(where: isForeign)
        request.trailers.removeAll(where: isForeign)
        if let cookies = granted?.ownCookies, request.fields[.cookie] == nil { request.fields.append(cookies) }
        return request
    }

    /// The same request without its secrets, for a link that sends it to another origin than the caller's.
    ///
    /// Removed from fields and trailers are Authorization, Proxy-Authorization, Cookie, other fields with a secret
    /// according to their names, such as X-Api-Key, Private-Token and X-Functions-Key, and
    /// ``RequestOptions/secretFields``. The user information of the URI is removed too. Query and body are kept.
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
