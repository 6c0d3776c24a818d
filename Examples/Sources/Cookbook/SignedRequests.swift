import Crypto
import Curlew
import Foundation
import Logging

/// A link that signs the request line, the date and the body. Its place is behind the standard chain, so that each
/// attempt is signed anew.
private struct Signing: CurlewMiddleware {
    let origin: String
    let key: SymmetricKey
    let now: @Sendable () -> Date

    func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
        guard request.uri.origin == origin else { return try await next(request) }
        var request = request
        let body = try await request.body.collect(upTo: .mebibytes(1))
        if !request.body.isReplayable { request.body = .bytes(body) }
        let date = now().ISO8601Format()
        let text = Array("\(request.method) \(request.target)\n\(date)\n".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: text, using: key)
        request.fields[HTTPField.Name("X-Signed-At")!] = date
        request.options.secretFields.insert(HTTPField.Name("X-Signature")!)
        request.fields[HTTPField.Name("X-Signature")!] = code.map { String(format: "%02x", $0) }.joined()
        return try await next(request)
    }
}

private struct Order: Encodable, Sendable { let item: String }

/// An order by a signed request. The log has its fields, but neither the signature nor the token.
public func placeOrder(
    _ item: String, at base: String, token: String, key: String, logger: Logger,
    now: @escaping @Sendable () -> Date = { Date() }
) async throws {
    let signing = Signing(origin: try CurlewURI(base).origin, key: SymmetricKey(data: Array(key.utf8)), now: now)
    let api = try HTTPSession(baseURL: base, credential: .bearer(token)) {
        StandardChain()
        signing
        RequestLogging(logger)
    }
    let options = RequestOptions().setting(\.idempotencyKey, to: .random)
    try await api.post("orders", .json(Order(item: item)), query: ["shop": 7], as: .nothing, options: options)
}
