import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("Links that sign requests and verify responses", .endsServers, .timeLimit(.minutes(2)))
struct MessageSigningTests {
    let key: SigningKey
    let publicKey: VerificationKey
    let moment = Date(timeIntervalSince1970: 1_700_000_000)

    init() throws {
        key = try SigningKey(sharedSecret: Array("0123456789abcdef-secret".utf8))
        publicKey = try key.verificationKey
    }

    func signer(_ components: [MessageSignature.Component]) throws -> MessageSignature.Signer {
        try MessageSignature.Signer(key: key, keyID: "k", components: components)
    }

    /// The request that a server has received.
    func message(_ received: RecordedRequest, _ server: MockServer) -> MessageSignature.Message {
        MessageSignature.Message(
            HTTPRequest(
                method: received.method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: received.target,
                headerFields: received.fields))
    }

    @Test("a server verifies a request with its body, and each attempt has a new signature")
    func signing() async throws {
        let server = try await MockServer.start { request in
            MockResponse(status: request.exchangeIndex == 0 ? .serviceUnavailable : .ok, fields: [.retryAfter: "0"])
        }
        let seconds = Guarded(0.0)
        let signing = try MessageSigning(
            signer([.method, .targetURI, .contentDigest, .field(.contentLength), .field(.contentType)]),
            for: server.url(),
            now: { [moment] in
                moment.addingTimeInterval(
                    seconds.withLock { seconds in
                        seconds += 10
                        return seconds
                    })
            })
        let session = try HTTPSession {
            StandardChain()
            signing
        }
        let response = try await session.put(
            .raw(server.url("/a?b=c")), .body(.string("birds")), fields: [.contentType: "text/plain"])
        #expect(response.status == .ok)
        let verifier = try MessageSignature.Verifier(required: [.method, .targetURI, .contentDigest])
        var created: Set<Date> = []
        for _ in 0..<2 {
            let received = try #require(await server.takeRequest())
            let accepted = try verifier.verify(message(received, server), content: received.body, at: moment) { _ in
                publicKey
            }
            if let time = accepted.parameters.created { created.insert(time) }
            #expect(throws: CurlewError.self) {
                try verifier.verify(message(received, server), content: [1], at: moment) { _ in publicKey }
            }
        }
        #expect(created.count == 2)
    }

    @Test("another origin gets no signature, and a body that can be read only once is refused")
    func refusals() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let other = try await MockServer.start { _ in MockResponse() }
        let signing = try MessageSigning(signer([.method, .contentDigest]), for: server.url())
        let session = try HTTPSession(chain: .bare) { signing }
        _ = try await session.get(.raw(other.url()))
        #expect(await other.takeRequest()?.fields[SignatureMembers.signatureName] == nil)
        let body = AsyncStream<[UInt8]> { $0.finish() }
        let error = await curlewError { _ = try await session.put(.raw(server.url()), .body(.once(body))) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(server.requestCount == 0)
    }

    @Test("a signature reaches its origin from a session with the base of another origin")
    func otherBase() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let signing = try MessageSigning(signer([.method]), for: server.url())
        let session = try HTTPSession(baseURL: "https://api.example.com/", chain: .bare) { signing }
        _ = try await session.get(.raw(server.url()))
        let fields = try #require(await server.takeRequest()).fields
        #expect(fields[SignatureMembers.inputName] != nil)
        #expect(fields[SignatureMembers.signatureName] != nil)
    }

    @Test("a signed response is accepted only for its own request and with its own body")
    func verification() async throws {
        let content = Array("birds".utf8)
        let components: [MessageSignature.Component] = [.status, .contentDigest, .method.ofRequest, .path.ofRequest]
        let signer = try signer(components)
        let server = try await MockServer.start { [moment] request in
            // The server signs each response as the response to /right.
            let head = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/right")
            var response = HTTPResponse(
                status: .ok, headerFields: [.contentDigest: try ContentDigest(of: content).fieldValue])
            if request.target != "/unsigned" { response = try signer.signed(response, to: head, at: moment) }
            return MockResponse(
                fields: response.headerFields, body: .bytes(request.target == "/right?changed" ? [1] : content))
        }
        let verification = try MessageVerification(
            MessageSignature.Verifier(required: components), for: server.url(), now: { moment },
            key: { [publicKey] in $0.keyID == "k" ? publicKey : nil })
        let session = try HTTPSession {
            StandardChain()
            verification
        }
        let response = try await session.get(.raw(server.url("/right")))
        #expect(try await response.body.collect(upTo: 100) == content)
        for (path, code) in [
            ("/right?changed", ErrorCode.signatureRejected), ("/wrong", .signatureRejected),
            ("/unsigned", .signatureMissing),
        ] {
            let error = await curlewError { _ = try await session.get(.raw(server.url(path))) }
            #expect(error?.code == code, "\(path)")
            #expect(error?.uri?.path == path.split(separator: "?").first.map(String.init))
        }
    }

    @Test("an error of the closure for keys is the error of the request")
    func keyError() async throws {
        struct Missing: Error {}
        let signer = try signer([.status])
        let server = try await MockServer.start { [moment] _ in
            let head = try signer.signed(HTTPResponse(status: .ok), to: nil, at: moment)
            return MockResponse(fields: head.headerFields, body: .pattern(count: 1_000_000))
        }
        let verification = try MessageVerification(
            MessageSignature.Verifier(required: [.status]), for: server.url(), now: { [moment] in moment },
            key: { _ in throw Missing() })
        let session = try HTTPSession(chain: .bare) { verification }
        let error = await #expect(throws: (any Error).self) { try await session.get(.raw(server.url())) }
        #expect(error is Missing || (error as? CurlewError)?.underlying is Missing)
    }

    @Test("a body beyond the limit is refused before it is verified")
    func limit() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: .pattern(count: 5000)) }
        let verification = try MessageVerification(
            MessageSignature.Verifier(required: [.contentDigest]), for: server.url(), contentLimit: 4000
        ) { [publicKey] _ in publicKey }
        let session = try HTTPSession(chain: .bare) { verification }
        #expect(await curlewError { _ = try await session.get(.raw(server.url())) }?.code == .responseTooLarge)
    }
}

@Suite("Logins of a netrc file, and problems of responses", .endsServers, .timeLimit(.minutes(2)))
struct NetrcAuthenticationTests {
    @Test("a login is sent to its host, and the default entry is used if it is allowed")
    func logins() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let file = "machine 127.0.0.1 login u password p\ndefault login d password SECRET"
        let netrc = try Netrc(Array(file.utf8))
        let session = try HTTPSession(chain: .bare) { NetrcAuthentication(netrc) }
        _ = try await session.get(.raw(server.url()))
        #expect(await server.takeRequest()?.fields[.authorization] == "Basic dTpw")
        _ = try await session.get(.raw(server.url()), fields: [.authorization: "Bearer own"])
        #expect(await server.takeRequest()?.fields[.authorization] == "Bearer own")
        let local = "http://localhost:\(server.port)/"
        _ = try await session.get(.raw(local))
        #expect(await server.takeRequest()?.fields[.authorization] == nil)
        var link = NetrcAuthentication(netrc)
        link.usesDefaultEntry = true
        let withDefault = link
        let open = try HTTPSession(chain: .bare) { withDefault }
        _ = try await open.get(.raw(local))
        #expect(await server.takeRequest()?.fields[.authorization] == "Basic ZDpTRUNSRVQ=")
        SecretCheck.expectNone(of: ["SECRET"], in: withDefault)
    }

    @Test("a password is not sent over http to another machine")
    func plainText() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        var configuration = SessionConfiguration()
        configuration.route.hosts = [.init(host: "api.example.com", port: server.port, addresses: ["127.0.0.1"])]
        let netrc = try Netrc(Array("machine api.example.com login u password p".utf8))
        let session = try HTTPSession(configuration: configuration, chain: .bare) { NetrcAuthentication(netrc) }
        _ = try await session.get(.raw("http://api.example.com:\(server.port)/"))
        #expect(await server.takeRequest()?.fields[.authorization] == nil)
    }

    @Test("an error has the problem that the response describes")
    func problems() async throws {
        struct Credit: Decodable, Sendable { var balance: Int }
        let text = #"{"type":"https://a/credit","title":"No credit","status":403,"balance":30}"#
        let server = try await MockServer.start { request in
            MockResponse(
                status: .forbidden,
                fields: [.contentType: request.target == "/" ? "application/problem+json" : "application/json"],
                body: .string(text))
        }
        let session = try HTTPSession()
        let error = await curlewError { _ = try await session.get(.raw(server.url()), as: Credit.self) }
        #expect(error?.problem?.description == "No credit (403)")
        #expect(error?.problem(with: Credit.self)?.extensions?.balance == 30)
        let other = await curlewError { _ = try await session.get(.raw(server.url("/other")), as: Credit.self) }
        #expect(other?.code == .unacceptableStatus)
        #expect(other?.problem == nil)
    }
}
