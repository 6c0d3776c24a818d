import Curlew
import CurlewCredentials
import Foundation
import HTTPTypes

/// The code of the articles Credentials, OAuth and Signatures, and of some recipes; a test compares them.
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

    static func keyed(_ pem: String) throws -> OAuth.Endpoint {
        let authentication = try OAuth.ClientAuthentication.privateKey(
            SigningKey(pem: pem), keyID: "2026", audience: "https://as.example.com")
        let endpoint = try OAuth.Endpoint(
            "https://as.example.com/token", client: OAuth.Client("s6BhdRkqt3", authentication))
        return endpoint
    }

    static func login(state: String) throws -> (OAuth.ProofKey, String?) {
        let proofKey = try OAuth.ProofKey()
        var page = URLComponents(string: "https://as.example.com/authorize")
        page?.queryItems = [
            URLQueryItem(name: "response_type", value: "code"), URLQueryItem(name: "client_id", value: "s6BhdRkqt3"),
            URLQueryItem(name: "redirect_uri", value: "http://127.0.0.1:8080/"),
            URLQueryItem(name: "state", value: state), URLQueryItem(name: "code_challenge", value: proofKey.challenge),
            URLQueryItem(name: "code_challenge_method", value: OAuth.ProofKey.method),
        ]
        return (proofKey, page?.string)
    }

    struct VaultStore: OAuth.TokenStore {
        let vault: HTTPSession
        let user: String

        func load() async throws -> OAuth.Token? {
            do {
                return try await vault.get("tokens/\(user)", as: OAuth.Token.self)
            } catch let error as CurlewError where error.status == .notFound {
                return nil
            }
        }

        func save(_ token: OAuth.Token?) async throws {
            guard let token else { return try await vault.delete("tokens/\(user)", as: .nothing) }
            try await vault.put("tokens/\(user)", .json(token), as: .nothing)
        }
    }

    static func logout(
        _ credential: OAuthCredential, _ endpoint: OAuth.Endpoint, _ store: any OAuth.TokenStore
    ) async throws {
        let token = try await store.load()
        try await credential.forget()
        if let refreshToken = token?.refreshToken {
            try await endpoint.revoke(refreshToken, at: "https://as.example.com/revoke", hint: "refresh_token")
        }
    }

    static func exchanged(_ userToken: String, _ endpoint: OAuth.Endpoint) async throws -> OAuth.Token {
        let token = try await endpoint.token(
            .exchange(
                OAuth.TypedToken(userToken), audiences: ["nests"], scopes: ["nests:read"], requestedType: .accessToken))
        return token
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

    struct ShopSigning: CurlewMiddleware {
        let origin: String
        let sign: @Sendable (_ text: String) throws -> String
        var now: @Sendable () -> Date = { Date() }

        func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
            guard request.uri.origin == origin else { return try await next(request) }
            let body = try await request.body.collect(upTo: .mebibytes(1))
            var signed = request
            if !request.body.isReplayable { signed.body = .bytes(body) }
            let digest = try ContentDigest(of: body).fieldValue
            let date = now().ISO8601Format()
            signed.fields[.contentDigest] = digest
            signed.fields[HTTPField.Name("X-Signed-At")!] = date
            signed.options.secretFields.insert(HTTPField.Name("X-Signature")!)
            signed.fields[HTTPField.Name("X-Signature")!] = try sign(
                "\(request.method)\n\(request.target)\n\(date)\n\(digest)")
            return try await next(signed)
        }
    }

    static func shop(_ sign: @escaping @Sendable (_ text: String) throws -> String) throws -> HTTPSession {
        let signing = ShopSigning(origin: try CurlewURI("https://shop.example.com").origin, sign: sign)
        return try HTTPSession(baseURL: "https://shop.example.com/") {
            StandardChain()
            signing
        }
    }

    static func fixed(_ token: String) throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/", credential: .bearer(token))
        return api
    }

    // MARK: Recipes

    static func prices(at base: String, tokens: String, secret: String) throws -> HTTPSession {
        let endpoint = try OAuth.Endpoint(tokens, client: OAuth.Client("importer", .basic(secret: secret)))
        let credential = try OAuthCredential.clientCredentials(for: base, endpoint, scopes: ["prices:read"])
        let api = try HTTPSession(baseURL: base) {
            StandardChain()
            credential
        }
        return api
    }

    static func photo(_ path: String, to base: String, _ credentials: AWSCredentialSource) async throws {
        let signature = try AWSSignature(service: "s3", region: "eu-central-1")
        let signing = try AWSSigning(signature, for: base, credentials: credentials)
        let s3 = try HTTPSession(baseURL: base) {
            StandardChain()
            signing
        }
        try await s3.put("photos/heron.jpg", .file(path), as: .nothing)
    }

    static func partner(at base: String, _ key: SigningKey, _ partnerKey: VerificationKey) throws -> HTTPSession {
        let signer = try MessageSignature.Signer(
            key: key, keyID: "client-1", components: [.method, .targetURI, .contentDigest])
        let verifier = try MessageSignature.Verifier(
            required: [.status, .contentDigest, .method.ofRequest, .targetURI.ofRequest])
        let signing = try MessageSigning(signer, for: base)
        let verification = try MessageVerification(verifier, for: base) { $0.keyID == "partner-1" ? partnerKey : nil }
        let api = try HTTPSession(baseURL: base) {
            StandardChain()
            signing
            verification
        }
        return api
    }

    // MARK: Problems and logins

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
