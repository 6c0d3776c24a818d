import Curlew
import CurlewCredentials

private struct Price: Decodable, Sendable { let amount: Double }

/// Prices of an API with OAuth client credentials. The first call requests a token, all calls share it, and it is
/// renewed before it expires.
public struct PriceClient: Sendable {
    private let api: HTTPSession

    public init(at base: String, tokens: String, client: String, secret: String) throws {
        let endpoint = try OAuth.Endpoint(tokens, client: OAuth.Client(client, .basic(secret: secret)))
        let credential = try OAuthCredential.clientCredentials(for: base, endpoint, scopes: ["prices:read"])
        api = try HTTPSession(baseURL: base) {
            StandardChain()
            credential
        }
    }

    /// The price of an item; nil if the authorization server does not accept the client.
    public func price(of item: Int) async throws -> Double? {
        do {
            return try await api.get("prices/\(item)", as: Price.self).amount
        } catch let error as CurlewError where error.code == .tokenRefused {
            guard let failure = error.underlying as? OAuth.Failure, failure.code == .invalidClient else { throw error }
            return nil
        }
    }
}
