import Curlew

private struct Token: Decodable, Sendable {
    let accessToken: String
    let expiresIn: Int
}

private struct Price: Decodable, Sendable { let amount: Double }

/// A token of OAuth client credentials that all calls share. One call fetches it, and one renews it after a 401.
public func prices(of items: [Int], at base: String, client: String, secret: String) async throws -> [Double] {
    let login = try HTTPSession(
        baseURL: base, credential: .password(user: client, password: secret), json: JSONCoding(keys: .snakeCase))
    let renewal = try CredentialRenewal(
        for: base,
        lifetime: { (token: Token) in .seconds(token.expiresIn) },
        apply: { token, request in request.fields[.authorization] = "Bearer \(token.accessToken)" },
        renew: { _ in
            try await login.post("oauth/token", .form(["grant_type": "client_credentials"]), as: Token.self)
        })
    let api = try HTTPSession(baseURL: base) {
        StandardChain()
        renewal
        ConcurrencyLimiter(.fixed(50))
    }
    return try await withThrowingTaskGroup { group in
        for item in items {
            group.addTask { (item, try await api.get("prices/\(item)", as: Price.self).amount) }
        }
        var found: [Int: Double] = [:]
        for try await (item, amount) in group { found[item] = amount }
        return items.compactMap { found[$0] }
    }
}
