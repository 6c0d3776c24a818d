import Curlew
import CurlewCredentials
import Foundation
import HTTPTypes

/// The code of the article Credentials; a test compares the two.
enum CredentialSnippets {
    static func service(secret: String) throws -> HTTPSession {
        let client = OAuth.Client("s6BhdRkqt3", .basic(secret: secret))
        let endpoint = try OAuth.Endpoint("https://as.example.com/token", client: client)
        let credential = try OAuthCredential.clientCredentials(
            for: "https://api.example.com", endpoint, scopes: ["birds"])
        return try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            credential
        }
    }

    static func user(_ endpoint: OAuth.Endpoint, code: String, proofKey: OAuth.ProofKey) async throws -> HTTPSession {
        let store = OAuth.FileTokenStore("/home/me/.config/birds/token")
        let token = try await endpoint.token(
            .authorizationCode(code, redirectURI: "http://127.0.0.1:8080/", proofKey: proofKey))
        try await store.save(token)
        let credential = try OAuthCredential.refreshing(for: "https://api.example.com", endpoint, store: store)
        return try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            credential
        }
    }

    static func device(_ endpoint: OAuth.Endpoint) async throws -> OAuth.Token {
        try await endpoint.deviceToken(authorizedAt: "https://as.example.com/device", scopes: ["birds"]) { codes in
            print("Enter \(codes.userCode) at \(codes.verificationURI)")
        }
    }

    static func refusal(_ endpoint: OAuth.Endpoint) async throws -> OAuth.Token? {
        do {
            return try await endpoint.token(.clientCredentials())
        } catch let error as CurlewError where error.code == .tokenRefused {
            guard let failure = error.underlying as? OAuth.Failure, failure.code == .invalidScope else { throw error }
            return nil
        }
    }

    static func storage() throws -> HTTPSession {
        let signature = try AWSSignature(service: "s3", region: "eu-central-1")
        let signing = try AWSSigning(
            signature, for: "https://s3.eu-central-1.amazonaws.com", credentials: .standard)
        return try HTTPSession(baseURL: "https://s3.eu-central-1.amazonaws.com/") {
            StandardChain()
            signing
        }
    }

    static func link(_ credential: AWSCredential) throws -> String? {
        let signature = try AWSSignature(service: "s3", region: "eu-central-1")
        let request = HTTPRequest(
            method: .get, scheme: "https", authority: "s3.eu-central-1.amazonaws.com", path: "/birds/heron.jpg")
        return try signature.presigned(request, credential: credential, at: Date(), validity: .seconds(3600)).path
    }

    static func signed(_ pem: String, _ keys: [String: VerificationKey]) throws -> HTTPSession {
        let signer = try MessageSignature.Signer(
            key: SigningKey(pem: pem), keyID: "client-1", components: [.method, .targetURI, .contentDigest])
        let verifier = try MessageSignature.Verifier(
            required: [.status, .contentDigest, .method.ofRequest, .targetURI.ofRequest])
        let signing = try MessageSigning(signer, for: "https://api.example.com")
        let verification = try MessageVerification(verifier, for: "https://api.example.com") { parameters in
            keys[parameters.keyID ?? ""]
        }
        return try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            signing
            verification
        }
    }

    struct Credit: Decodable, Sendable {
        var balance: Int
    }

    static func order(_ api: HTTPSession) async throws -> Int? {
        do {
            return try await api.get("orders/1", as: Credit.self).balance
        } catch let error as CurlewError {
            guard let problem = error.problem else { throw error }
            print(problem)
            return error.problem(with: Credit.self)?.extensions?.balance
        }
    }

    static func logins() throws -> HTTPSession {
        let netrc = try Netrc(contentsOf: "/home/me/.netrc")
        return try HTTPSession {
            StandardChain()
            NetrcAuthentication(netrc)
        }
    }
}
