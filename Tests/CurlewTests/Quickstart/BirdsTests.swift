import Curlew
import CurlewTesting
import Testing

@Suite("Birds")
struct BirdsTests {
    @Test("a bird that the service does not have is nil")
    func missing() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .notFound))
        let birds = Birds(api: try HTTPSession(baseURL: server.url()))
        #expect(try await birds.bird(7) == nil)
        #expect(await server.takeRequest()?.target == "/birds/7")
    }

    @Test("every request names the client")
    func name() async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(fields: [.contentType: "application/json"], body: #"{"id":7,"name":"Numenius"}"#))
        let api = try HTTPSession(baseURL: server.url()) { ClientName(name: "Inventory/1.4") }
        #expect(try await Birds(api: api).bird(7)?.name == "Numenius")
        #expect(await server.takeRequest()?.fields[.userAgent] == "Inventory/1.4")
    }
}
