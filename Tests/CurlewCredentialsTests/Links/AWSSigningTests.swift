import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("A link that signs requests to AWS", .endsServers, .timeLimit(.minutes(2)))
struct AWSSigningTests {
    let credential: AWSCredential
    let signature: AWSSignature
    let moment = Date(timeIntervalSince1970: 1_369_353_600)

    init() throws {
        credential = try AWSCredential(accessKey: "AKID", secretKey: "SECRETKEY")
        signature = try AWSSignature(service: "s3", region: "us-east-1")
    }

    /// A source that counts its credentials.
    actor Issuer {
        private(set) var count = 0
        private let token: String?

        init(token: String? = nil) { self.token = token }

        func credential() throws -> AWSCredential {
            count += 1
            return try AWSCredential(
                accessKey: "AKID\(count)", secretKey: "SECRETKEY", sessionToken: token.map { "\($0)\(count)" })
        }

        nonisolated var source: AWSCredentialSource { AWSCredentialSource { try await self.credential() } }
    }

    func session(
        _ origins: [String], _ source: AWSCredentialSource? = nil, configuration: SessionConfiguration = .init(),
        now: @escaping @Sendable () -> Date = { Date() }, rule: AWSSigning.BodyRule = .hashed
    ) throws -> HTTPSession {
        var link = try AWSSigning(signature, for: origins, credentials: source ?? .fixed(credential), now: now)
        link.bodyRule = rule
        let signing = link
        return try HTTPSession(configuration: configuration) {
            StandardChain()
            signing
        }
    }

    /// True if the request that the server received, signed again, has the same signature.
    func isRight(_ received: RecordedRequest, _ authority: String, payload: AWSSignature.Payload, at moment: Date)
        throws
        -> Bool
    {
        let value = try #require(received.fields[.authorization])
        let names = try #require(value.split(separator: "SignedHeaders=").last?.split(separator: ",").first)
        var fields = HTTPFields()
        for name in names.split(separator: ";") where name != "host" {
            let name = try #require(HTTPField.Name(String(name)))
            for field in received.fields where field.name == name { fields.append(field) }
        }
        let request = HTTPRequest(
            method: received.method, scheme: "http", authority: authority, path: received.target, headerFields: fields)
        return try signature.signed(request, payload: payload, credential: credential, at: moment)
            .headerFields[.authorization] == value
    }

    @Test("a request is signed as the server receives it, with its body and its query")
    func signing() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "ok") }
        let session = try session([server.url()], now: { moment })
        let response = try await session.put(
            .raw(server.url("/Bucket/a%20b?x=1&prefix=%2F")), .body(.string("birds")),
            fields: [.contentType: "text/plain"])
        #expect(response.status == .ok)
        let received = try #require(await server.takeRequest())
        let authority = "127.0.0.1:\(server.port)"
        #expect(try isRight(received, authority, payload: .bytes(Array("birds".utf8)), at: moment))
        #expect(try !isRight(received, authority, payload: .bytes(Array("bird".utf8)), at: moment))
        #expect(received.text == "birds")
    }

    @Test("the host is signed in the letter case in which it is sent")
    func hostCase() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        var configuration = SessionConfiguration()
        configuration.route.hosts = [.init(host: "bucket.example.com", port: server.port, addresses: ["127.0.0.1"])]
        let url = "http://Bucket.Example.COM:\(server.port)/"
        let session = try session([url], configuration: configuration, now: { moment })
        _ = try await session.get(.raw(url))
        let received = try #require(await server.takeRequest())
        let host = try #require(received.fields[.host])
        #expect(try isRight(received, host, payload: .empty, at: moment))
    }

    @Test("each attempt has a new signature")
    func attempts() async throws {
        let server = try await MockServer.start { request in
            MockResponse(status: request.exchangeIndex == 0 ? .serviceUnavailable : .ok, fields: [.retryAfter: "0"])
        }
        let seconds = Guarded(0.0)
        let session = try session(
            [server.url()],
            now: { [moment] in
                moment.addingTimeInterval(
                    seconds.withLock { seconds in
                        seconds += 100
                        return seconds
                    })
            })
        #expect(try await session.get(.raw(server.url())).status == .ok)
        let first = try #require(await server.takeRequest())
        let second = try #require(await server.takeRequest())
        #expect(first.fields[.amzDate] != second.fields[.amzDate])
        #expect(first.fields[.authorization] != second.fields[.authorization])
    }

    @Test("another origin gets no signature, also after a redirect, and a request keeps its own Authorization")
    func origins() async throws {
        let other = try await MockServer.start { _ in MockResponse(body: "other") }
        let server = try await MockServer.start { _ in
            MockResponse(status: .temporaryRedirect, fields: [.location: other.url("/moved")])
        }
        let source = try AWSCredential(accessKey: "AKID", secretKey: "SECRETKEY", sessionToken: "SECRETTOKEN")
        let session = try session([server.url()], .fixed(source))
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(await server.takeRequest()?.fields[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 ") == true)
        let moved = try #require(await other.takeRequest())
        #expect(moved.target == "/moved")
        for name in [HTTPField.Name.authorization, .amzDate, .amzSecurityToken, .amzContentSHA256] {
            #expect(moved.fields[name] == nil)
        }
        _ = try await session.get(.raw(server.url()), fields: [.authorization: "Bearer own"])
        #expect(await server.takeRequest()?.fields[.authorization] == "Bearer own")
    }

    @Test("a body that can be read only once is refused with an error that names the alternatives")
    func oneShot() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try session([server.url()])
        let body = AsyncStream<[UInt8]> { stream in
            stream.yield([1])
            stream.finish()
        }
        let error = await curlewError { _ = try await session.put(.raw(server.url()), .body(.once(body))) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(error?.message.contains("BodyRule.unsigned") == true)
        #expect(server.requestCount == 0)
    }

    @Test("an unsigned body is sent only over https")
    func unsigned() async throws {
        let plain = try await MockServer.start { _ in MockResponse() }
        let session = try session([plain.url()], rule: .unsigned)
        let error = await curlewError { _ = try await session.put(.raw(plain.url()), .body(.string("a"))) }
        #expect(error?.code == .invalidRequest)
        #expect(plain.requestCount == 0)
        let certificate = try HeldCertificate.selfSigned()
        let server = try await MockServer.start(.init(tls: ServerTLS([certificate]))) { _ in MockResponse() }
        var configuration = SessionConfiguration()
        configuration.security.allowsInvalidCertificates = true
        configuration.security.validatesDomainName = false
        let secure = try self.session([server.url()], configuration: configuration, rule: .unsigned)
        let body = AsyncStream<[UInt8]> { stream in
            stream.yield(Array("birds".utf8))
            stream.finish()
        }
        #expect(try await secure.put(.raw(server.url()), .body(.once(body))).status == .ok)
        let received = try #require(await server.takeRequest())
        #expect(received.fields[.amzContentSHA256] == "UNSIGNED-PAYLOAD")
        #expect(received.text == "birds")
    }

    @Test("a body in signed chunks is framed while it is read, and sent again by a retry", arguments: [true, false])
    func chunks(_ isReplayable: Bool) async throws {
        let server = try await MockServer.start { request in
            _ = try await request.body.collect()
            let status: HTTPResponse.Status = request.exchangeIndex == 0 && isReplayable ? .serviceUnavailable : .ok
            return MockResponse(status: status, fields: [.retryAfter: "0"])
        }
        let session = try session([server.url()], now: { moment }, rule: .chunks(of: 8192))
        let content = [UInt8](repeating: UInt8(ascii: "a"), count: 20_000)
        let pieces = stride(from: 0, to: content.count, by: 3000).map {
            Array(content[$0..<min($0 + 3000, content.count)])
        }
        let body: CurlewRequest.Body =
            isReplayable
            ? .bytes(content)
            : .once(
                length: 20_000,
                AsyncStream { stream in
                    for piece in pieces { stream.yield(piece) }
                    stream.finish()
                })
        #expect(try await session.put(.raw(server.url("/a")), .body(body)).status == .ok)
        try await server.waitForRequests(isReplayable ? 2 : 1)
        for _ in 0..<(isReplayable ? 2 : 1) {
            let received = try #require(await server.takeRequest())
            let request = HTTPRequest(
                method: .put, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/a",
                headerFields: received.fields.signed)
            var (expected, signer) = try signature.signedInChunks(
                request, length: 20_000, chunkSize: 8192, credential: credential, at: moment)
            #expect(received.fields[.authorization] == expected.headerFields[.authorization])
            #expect(try received.body == signer.append(content) + signer.finish())
            #expect(received.fields[.contentLength] == "\(received.body.count)")
        }
    }

    @Test("a body in signed chunks needs a length")
    func lengthless() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try session([server.url()], rule: .chunks())
        let stream = AsyncStream<[UInt8]> { $0.finish() }
        let error = await curlewError { _ = try await session.put(.raw(server.url()), .body(.once(stream))) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("a single refusal corrects the clock for all later requests")
    func skew() async throws {
        let server = try await MockServer.start { request in
            let isRight = request.fields[.amzDate] == "20130524T000000Z"
            return MockResponse(
                status: isRight ? .ok : .forbidden, fields: [.date: "Fri, 24 May 2013 00:00:00 GMT"],
                body: isRight ? "ok" : "<Error><Code>RequestTimeTooSkewed</Code></Error>")
        }
        let wrong = moment.addingTimeInterval(-7200)
        let session = try session([server.url()], now: { wrong })
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(server.requestCount == 3)
    }

    @Test("a refusal for another reason, or with an implausible time, is returned with its body")
    func otherRefusals() async throws {
        let cases = [
            ("Fri, 24 May 2013 02:00:00 GMT", "<Code>NoSuchKey</Code>"),
            ("Fri, 31 May 2013 02:00:00 GMT", "<Code>RequestTimeTooSkewed</Code>"),
            ("Fri, 24 May 2013 00:00:01 GMT", "<Code>SignatureDoesNotMatch</Code>"),
            ("Fri, 24 May 2013 02:00:00 GMT", "<html>"), ("no date", "{}"),
        ]
        for (date, body) in cases {
            let server = try await MockServer.start { _ in
                MockResponse(status: .forbidden, fields: [.date: date], body: .string(body))
            }
            let session = try session([server.url()], now: { moment })
            let response = try await session.get(.raw(server.url()))
            #expect(response.status == .forbidden)
            #expect(try await response.body.collect(upTo: 1000) == Array(body.utf8))
            #expect(server.requestCount == 1, "\(date) \(body)")
        }
    }

    @Test("a large response with the status 400 is a stream for a temporary credential too", arguments: [true, false])
    func largeRefusal(_ hasLength: Bool) async throws {
        let content = (0..<1_200_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
        let server = try await MockServer.start { _ in
            var response = MockResponse(status: .badRequest, body: .bytes(content))
            response.framing = hasLength ? .automatic : .chunked
            return response
        }
        let temporary = try AWSCredential(accessKey: "AKID", secretKey: "SECRETKEY", sessionToken: "token")
        let session = try session([server.url()], .fixed(temporary))
        let response = try await session.get(.raw(server.url()))
        #expect(response.status == .badRequest)
        #expect(try await response.body.collect(upTo: .mebibytes(2)) == content)
        #expect(server.requestCount == 1)
    }

    @Test("an expired credential is replaced once, and its request is sent twice")
    func expired() async throws {
        let server = try await MockServer.start { request in
            let isNew = request.fields[.amzSecurityToken] == "token2"
            return MockResponse(
                status: isNew ? .ok : .badRequest, body: isNew ? "ok" : "<Error><Code>ExpiredToken</Code></Error>")
        }
        let issuer = Issuer(token: "token")
        let session = try session([server.url()], issuer.source)
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(try await session.get(.raw(server.url())).status == .ok)
        #expect(await issuer.count == 2)
        #expect(server.requestCount == 3)
    }

    @Test("a hundred requests query the source once")
    func oneCredential() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let issuer = Issuer()
        let session = try session([server.url()], issuer.source)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try await session.get(.raw(server.url())) } }
            try await group.waitForAll()
        }
        #expect(await issuer.count == 1)
    }

    @Test("sources without a credential cause an error, and no request is sent")
    func unavailable() async throws {
        let server = try await MockServer.start { _ in MockResponse() }
        let session = try session([server.url()], .first(of: [.environment([:]), .container(environment: [:])]))
        let error = await curlewError { _ = try await session.get(.raw(server.url())) }
        #expect(error?.code == .credentialUnavailable)
        #expect(server.requestCount == 0)
    }

    @Test("the code of an error is found in JSON and in XML")
    func codes() {
        #expect(AWSErrorCode.code(in: Array("<a><Code>X</Code></a>".utf8)) == "X")
        #expect(AWSErrorCode.code(in: Array(#"{"__type":"com.amazonaws#X"}"#.utf8)) == "com.amazonaws#X")
        for text in ["", "<Code>", "<Code>" + String(repeating: "x", count: 200) + "</Code>", "[]"] {
            #expect(AWSErrorCode.code(in: Array(text.utf8)) == nil)
        }
        #expect(AWSErrorCode.isExpired("com.amazonaws#ExpiredTokenException"))
        #expect(!AWSErrorCode.isExpired("NotExpiredToken"))
    }
}

extension HTTPFields {
    /// The fields that a signature in Authorization covers, except Host.
    fileprivate var signed: HTTPFields {
        let text = self[.authorization]?.split(separator: "SignedHeaders=").last?.split(separator: ",").first ?? ""
        let names = text.split(separator: ";").map(String.init)
        return HTTPFields(filter { names.contains($0.name.canonicalName) && $0.name.canonicalName != "host" })
    }
}
