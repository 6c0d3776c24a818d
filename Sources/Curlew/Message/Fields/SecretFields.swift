internal import HTTPTypes

/// Fields whose values are for one origin alone: masked in logs and commands, and taken off before another origin is asked.
enum SecretFields {
    static let names = Set(
        [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-API-Key", "X-Auth-Token",
            "X-Access-Token", "X-CSRF-Token", "X-XSRF-Token", "X-Amz-Security-Token", "X-Vault-Token",
        ].compactMap { HTTPField.Name($0) })

    private static let schemes: Set<String> = ["basic", "bearer", "digest", "negotiate", "token", "aws4-hmac-sha256"]

    /// The value with the secret in it replaced; the scheme of credentials stays.
    /// - Parameters:
    ///   - field: The field.
    ///   - marked: Names that the user has marked as secret.
    static func masked(_ field: HTTPField, marked: Set<HTTPField.Name>) -> String {
        guard names.contains(field.name) else { return marked.contains(field.name) ? "***" : field.value }
        guard let scheme = field.value.split(separator: " ").first, schemes.contains(scheme.lowercased()),
            scheme.utf8.count < field.value.utf8.count
        else { return "***" }
        return "\(scheme) ***"
    }
}

extension CurlewRequest {
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
        for name in SecretFields.names.union(options.secretFields) {
            request.fields[name] = nil
            request.trailers[name] = nil
        }
        request.uri = uri.withoutUserInformation
        if options.engineCredential != nil { request.options.engineCredential = nil }
        return request
    }
}
