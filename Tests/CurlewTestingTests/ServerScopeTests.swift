import Curlew
import CurlewTesting
import CurlewTestingTraits
import HTTPTypes
import Testing

@Suite("Servers in a scope", .noLeaks, .timeLimit(.minutes(1)))
struct ServerScopeTests {
    private struct Stop: Error {}

    /// Expects that the server does not listen any more.
    private func expectEnd(of url: String) async throws {
        let error = await #expect(throws: CurlewError.self) { _ = try await HTTPSession(chain: .bare).get(.raw(url)) }
        #expect(error?.code == .connectionRefused)
    }

    @Test(
        "a MockServer runs within its scope, and is shut down at its end, also after an error",
        arguments: [false, true])
    func mockServer(throwing: Bool) async throws {
        var url = ""
        let answer: MockServer.Handler = { _ in MockResponse(body: "ok") }
        do {
            let status = try await withMockServer(handler: answer) { server in
                url = server.url()
                let status = try await HTTPSession(chain: .bare).get(.raw(url)).status
                if throwing { throw Stop() }
                return status
            }
            #expect(!throwing && status == .ok)
        } catch is Stop {
            #expect(throwing)
        }
        try await expectEnd(of: url)
    }

    @Test("a RawServer and a MockProxy are shut down with their scopes")
    func others() async throws {
        let close: RawServer.Handler = { _ in }
        let raw = try await withRawServer(handler: close) { server in server.url() }
        try await expectEnd(of: raw)
        let proxy = try await withMockProxy { proxy in proxy.url }
        try await expectEnd(of: proxy)
    }
}
