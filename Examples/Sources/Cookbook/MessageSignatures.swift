import Curlew
import CurlewCredentials

private struct Order: Encodable, Sendable { let item: String }

private struct Receipt: Decodable, Sendable { let number: Int }

/// An order by HTTP Message Signatures. A response counts only if the shop has signed it, with its content, for this
/// request.
public func signedOrder(_ item: String, at base: String, key: String, shopKey: String) async throws -> Int {
    let signer = try MessageSignature.Signer(
        key: SigningKey(pem: key), keyID: "client-1", components: [.method, .targetURI, .contentDigest])
    let verifier = try MessageSignature.Verifier(
        required: [.status, .contentDigest, .method.ofRequest, .targetURI.ofRequest])
    let shop = try VerificationKey(pem: shopKey)
    let signing = try MessageSigning(signer, for: base)
    let verification = try MessageVerification(verifier, for: base) { $0.keyID == "shop-1" ? shop : nil }
    let api = try HTTPSession(baseURL: base) {
        StandardChain()
        signing
        verification
    }
    return try await api.post("orders", .json(Order(item: item)), as: Receipt.self).number
}
