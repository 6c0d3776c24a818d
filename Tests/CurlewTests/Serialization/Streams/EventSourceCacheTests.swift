import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Event sources with caches", .endsServers, .timeLimit(.minutes(1)))
struct EventSourceCacheTests {
    @Test("a field that the caller sets on an event source is kept", arguments: ["no-store", "max-age=0"])
    func ownCacheControl(_ value: String) async throws {
        let server = try await MockServer.start()
        server.enqueue(MockResponse(status: .noContent))
        let source = try makeSession().eventSource(.raw(server.url()), fields: [.cacheControl: value])
        for await _ in source {}
        #expect(await server.takeRequest()?.fields[.cacheControl] == value)
    }

    @Test("an event stream is neither stored in a cache nor served from one")
    func cache() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(
                fields: [.contentType: "text/event-stream", .cacheControl: "max-age=600"], body: "data: a\n\n")
        }
        let cache = HTTPCache()
        let session = try HTTPSession(chain: .bare) { cache }
        for _ in 0..<2 {
            for await event in try session.eventSource(.raw(server.url())) {
                if case .message = event { break }
            }
        }
        #expect(await server.takeRequest() != nil)
        #expect(await server.takeRequest() != nil)
    }
}
