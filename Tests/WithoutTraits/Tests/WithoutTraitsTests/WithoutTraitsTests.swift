import Curlew
import HTTPTypes
import Testing

@Suite("Curlew without its traits", .timeLimit(.minutes(1)))
struct WithoutTraitsTests {
    @Test("a host outside ASCII is an invalid URL, and the message names the trait")
    func internationalHost() throws {
        let error = #expect(throws: CurlewError.self) { try CurlewURI("https://bücher.example/") }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains("bücher.example") == true)
        #expect(error?.message.contains("InternationalNames") == true)
        #expect(try CurlewURI("https://xn--bcher-kva.example/").host == "xn--bcher-kva.example")
        #expect(throws: CurlewError.self) { try CurlewURI("https://example.com/").resolving("//bücher.example/") }
    }

    @Test("a cookie is kept only for its host, and a domain cookie is refused")
    func cookies() throws {
        let jar = CookieJar()
        let uri = try CurlewURI("https://www.example.com/")
        #expect(!jar.store("wide=1; Domain=example.com", from: uri))
        #expect(jar.store("own=1; Domain=www.example.com", from: uri))
        #expect(jar.store("plain=1", from: uri))
        #expect(jar.cookies.map(\.isHostOnly) == [true, true])
        #expect(try jar.cookies(for: CurlewURI("https://example.com/")).isEmpty)
        #expect(try jar.cookies(for: CurlewURI("https://deep.www.example.com/")).isEmpty)
        #expect(!jar.store("named=1", from: try CurlewURI("https://example.com/")) || jar.cookies.count == 3)
    }

    @Test("br and zstd are not announced, and a body in such a coding is passed on with its fields")
    func codings() async throws {
        for coding in ["br", "zstd"] {
            let transport = CodedTransport(coding: coding)
            let session = try HTTPSession(baseURL: "https://api.example.com/", transport: transport, chain: .bare) {
                ContentDecoding()
            }
            let response = try await session.get("thing")
            #expect(response.fields[.contentEncoding] == coding)
            #expect(response.contentCodings.isEmpty)
            #expect(try await response.body.collect(upTo: 100) == Array("coded".utf8))
        }
    }

    @Test("gzip is still decoded")
    func gzip() async throws {
        let text = Array("curlews whistle".utf8)
        let transport = CodedTransport(coding: "gzip", body: try RequestCompression.Format.gzip.compress(text))
        let session = try HTTPSession(baseURL: "https://api.example.com/", transport: transport, chain: .bare) {
            ContentDecoding()
        }
        let response = try await session.get("thing")
        #expect(response.contentCodings == ["gzip"])
        #expect(try await response.body.collect(upTo: 100) == text)
    }
}

/// A transport that answers with an encoded body, and expects the decodable codings to be announced.
private struct CodedTransport: Transport {
    let coding: String
    var body = Array("coded".utf8)

    func send(_ request: CurlewRequest) async throws -> CurlewResponse {
        #expect(request.fields[.acceptEncoding] == "gzip, deflate")
        return CurlewResponse(.ok, fields: [.contentEncoding: coding], body: .bytes(body), uri: request.uri)
    }
}
