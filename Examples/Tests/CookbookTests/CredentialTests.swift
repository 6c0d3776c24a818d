import Cookbook
import Crypto
import Curlew
import CurlewCredentials
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Synchronization
import Testing

@Suite("Programs of the cookbook with tokens and signatures", .endsServers, .timeLimit(.minutes(1)))
struct CredentialTests {
    // MARK: OAuth

    @Test("twenty concurrent calls share one token of the client")
    func clientCredentials() async throws {
        let server = try await MockServer.start { request in
            if request.path == "/token" {
                return .json(#"{"access_token":"t0ken","token_type":"Bearer","expires_in":3600}"#)
            }
            guard request.fields[.authorization] == "Bearer t0ken" else { return MockResponse(status: .unauthorized) }
            return .json(#"{"amount":7.5}"#)
        }
        let prices = try PriceClient(
            at: server.url("/v1"), tokens: server.url("/token"), client: "importer", secret: "s3cret")
        try await withThrowingTaskGroup(of: Double?.self) { group in
            for item in 0..<20 { group.addTask { try await prices.price(of: item) } }
            for try await price in group { #expect(price == 7.5) }
        }
        let requests = await server.recorded().filter { $0.target == "/token" }
        #expect(requests.map(\.text) == ["grant_type=client_credentials&scope=prices%3Aread"])
        #expect(requests.first?.fields[.authorization] == "Basic aW1wb3J0ZXI6czNjcmV0")
    }

    @Test("a client that the authorization server does not accept gets no price, and other refusals are errors")
    func refusedClient() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            MockResponse(status: .unauthorized, body: #"{"error":"invalid_client"}"#),
            MockResponse(status: .badRequest, body: #"{"error":"invalid_scope"}"#))
        let prices = try PriceClient(
            at: server.url("/v1"), tokens: server.url("/token"), client: "importer", secret: "wrong")
        #expect(try await prices.price(of: 1) == nil)
        let error = await #expect(throws: CurlewError.self) { try await prices.price(of: 1) }
        #expect(error?.code == .tokenRefused)
        #expect(error?.description.contains("wrong") == false)
    }

    // MARK: AWS

    /// The time in a field X-Amz-Date.
    private static func time(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        return formatter.date(from: text)
    }

    @Test("an object is stored and loaded by signed requests, and each attempt has its own signature")
    func objects() async throws {
        let objects = Mutex<[String: [UInt8]]>([:])
        let server = try await MockServer.start { request in
            let body = try await request.body.collect()
            guard request.fields[.authorization] != nil else { return MockResponse(status: .forbidden) }
            guard request.exchangeIndex > 0 else {
                return MockResponse(status: .serviceUnavailable, fields: [.retryAfter: "0"])
            }
            guard request.method == .put else {
                return objects.withLock { $0[request.target] }.map { MockResponse(body: .bytes($0)) } ?? .notFound
            }
            objects.withLock { $0[request.target] = body }
            return MockResponse()
        }
        let folder = try TemporaryFolder()
        let content = Array("a heron".utf8)
        let file = try folder.write(content, to: "heron.jpg")
        let credential = try AWSCredential(accessKey: "AKIDEXAMPLE", secretKey: "s3cret")
        let storage = try ObjectStorage(at: server.url("/"), region: "eu-central-1", credentials: .fixed(credential))
        try await storage.store(file, as: "heron.jpg")
        #expect(try await storage.load("heron.jpg") == content)

        let signature = try AWSSignature(service: "s3", region: "eu-central-1")
        let requests = await server.recorded()
        #expect(requests.map(\.method) == [.put, .put, .get])
        for received in requests {
            let value = try #require(received.fields[.authorization])
            let names = try #require(value.split(separator: "SignedHeaders=").last?.split(separator: ",").first)
                .split(separator: ";").map(String.init)
            let head = HTTPRequest(
                method: received.method, scheme: "http", authority: "127.0.0.1:\(server.port)",
                path: received.target,
                headerFields: HTTPFields(received.fields.filter { names.contains($0.name.canonicalName) }))
            let moment = try #require(Self.time(received.fields[HTTPField.Name("X-Amz-Date")!] ?? ""))
            let expected = try signature.signed(
                head, payload: .bytes(received.body), credential: credential, at: moment)
            #expect(expected.headerFields[.authorization] == value)
        }
    }

    @Test("a presigned link has a signature and an end, and not the secret")
    func presigned() throws {
        let credential = try AWSCredential(accessKey: "AKIDEXAMPLE", secretKey: "s3cret")
        let storage = try ObjectStorage(
            at: "https://s3.eu-central-1.amazonaws.com/", region: "eu-central-1", credentials: .fixed(credential))
        let link = try storage.link(to: "heron.jpg", by: credential)
        #expect(link.hasPrefix("https://s3.eu-central-1.amazonaws.com/photos/heron.jpg?X-Amz-Algorithm="))
        #expect(link.contains("&X-Amz-Expires=3600&") && link.contains("&X-Amz-Signature="))
        #expect(!link.contains("s3cret"))
    }

    // MARK: HTTP Message Signatures

    /// The kinds of responses of a shop.
    enum Shop: CaseIterable {
        case honest, unsigned, changed, replayed
    }

    private static let inputName = HTTPField.Name("Signature-Input")!
    private static let signatureName = HTTPField.Name("Signature")!

    /// The field Content-Digest of content, computed by swift-crypto.
    private static func digest(_ content: [UInt8]) -> String {
        "sha-256=:\(Data(SHA256.hash(data: content)).base64EncodedString()):"
    }

    /// The response of a shop, signed by swift-crypto alone.
    private static func answer(
        _ shop: Shop, _ key: P256.Signing.PrivateKey, to target: String
    ) throws -> MockResponse {
        let content = #"{"number":7}"#
        var response = MockResponse.json(shop == .changed ? #"{"number":8}"# : content, status: .created)
        guard shop != .unsigned else { return response }
        let digest = digest(Array(content.utf8))
        let parameters = """
            ("@status" "content-digest" "@method";req "@target-uri";req)\
            ;created=\(Int(Date().timeIntervalSince1970));keyid="shop-1"
            """
        let text = """
            "@status": 201
            "content-digest": \(digest)
            "@method";req: POST
            "@target-uri";req: \(shop == .replayed ? target + "/other" : target)
            "@signature-params": \(parameters)
            """
        let signature = try key.signature(for: Data(text.utf8)).rawRepresentation.base64EncodedString()
        response.fields[.contentDigest] = digest
        response.fields[inputName] = "sig1=\(parameters)"
        response.fields[signatureName] = "sig1=:\(signature):"
        return response
    }

    @Test("a signed order is verified by swift-crypto, and only a response that is signed for it counts")
    func signedOrders() async throws {
        let (client, shopKey) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let shop = Mutex(Shop.honest)
        let address = Mutex("")
        let server = try await MockServer.start { _ in
            try Self.answer(shop.withLock { $0 }, shopKey, to: address.withLock { $0 })
        }
        address.withLock { $0 = server.url("/orders") }
        let send = {
            try await signedOrder(
                "binoculars", at: server.url(), key: client.pemRepresentation,
                shopKey: shopKey.publicKey.pemRepresentation)
        }
        #expect(try await send() == 7)
        let received = try #require(await server.takeRequest())
        let input = try #require(received.fields[Self.inputName]?.dropFirst("sig1=".count))
        let signature = try #require(received.fields[Self.signatureName]?.dropFirst("sig1=:".count).dropLast())
        let text = """
            "@method": POST
            "@target-uri": \(server.url("/orders"))
            "content-digest": \(Self.digest(received.body))
            "@signature-params": \(input)
            """
        let raw = try #require(Data(base64Encoded: String(signature)))
        #expect(
            client.publicKey.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: raw), for: Data(text.utf8)))
        for other in Shop.allCases.dropFirst() {
            shop.withLock { $0 = other }
            let error = await #expect(throws: CurlewError.self, "\(other)") { try await send() }
            #expect(error?.code == (other == .unsigned ? .signatureMissing : .signatureRejected), "\(other)")
        }
    }
}
