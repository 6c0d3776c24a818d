import Cookbook
import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import Synchronization
import Testing

@Suite("Calls of the cookbook", .timeLimit(.minutes(1)))
struct CallTests {
    @Test("a REST client reads models, pages and failures, and writes in the dialect of the API")
    func restClient() async throws {
        let server = try await MockServer.start { request in
            switch (request.method, request.target) {
            case (.get, "/v1/repos/octo/he%2Fllo"):
                .json(#"{"full_name":"octo/he/llo","pushed_at":"2026-01-02T03:04:05.250Z"}"#)
            case (.get, "/v1/repos/octo/broken"): .json(#"{"full_name":"octo/broken","pushed_at":7}"#)
            case (.get, "/v1/repos?per_page=2"):
                .json(
                    #"[{"full_name":"a","pushed_at":"2026-01-02T03:04:05Z"},{"full_name":"b","pushed_at":"2026-01-02T03:04:05Z"}]"#,
                    fields: [.link: #"<?per_page=2&page=2>; rel="next""#])
            case (.get, "/v1/repos?per_page=2&page=2"):
                .json(#"[{"full_name":"c","pushed_at":"2026-01-02T03:04:05+01:00"}]"#)
            case (.post, "/v1/issues"): .json(#"{"number":9}"#, status: .created)
            default: .json(#"{"message":"nothing there"}"#, status: .notFound)
            }
        }
        let client = try RepositoryClient(at: server.url("/v1"), token: "t0ken")
        #expect(try await client.lastPush("octo", "he/llo")?.timeIntervalSince1970 == 1_767_323_045.25)
        #expect(try await client.lastPush("octo", "none") == nil)
        #expect(try await client.names() == ["a", "b", "c"])
        #expect(try await client.openIssue("It is late", due: Date(timeIntervalSince1970: 0)) == 9)
        let error = await #expect(throws: CurlewError.self) { try await client.lastPush("octo", "broken") }
        #expect(error?.code == .decodingFailed)
        #expect(error?.description.contains("pushed_at") == true, "\(error?.description ?? "")")

        let requests = await server.recorded()
        #expect(requests.allSatisfy { $0.fields[.authorization] == "Bearer t0ken" })
        #expect(
            requests.last { $0.method == .post }?.text
                == #"{"issue_title":"It is late","due_on":"1970-01-01T00:00:00Z"}"#)
        await server.shutdown()
    }

    /// A service that gives tokens, and refuses all but the newest.
    private final class TokenService: Sendable {
        private struct State {
            var token = 0
            var answered = 0
        }

        private let state = Mutex(State())
        private let revocation: Int?

        /// - Parameter revocation: The number of answered calls after which the token is revoked.
        init(revokesAfter revocation: Int? = nil) { self.revocation = revocation }

        var tokens: Int { state.withLock { $0.token } }

        func answer(_ request: InboundRequest) -> MockResponse {
            state.withLock { state in
                if request.path == "/oauth/token" {
                    guard request.fields[.authorization] == "Basic aW1wb3J0ZXI6c2VjcmV0" else {
                        return MockResponse(status: .unauthorized)
                    }
                    state.token += 1
                    return .json(#"{"access_token":"token\#(state.token)","expires_in":3600}"#)
                }
                let isRevoked = state.answered == revocation && state.token == 1
                guard !isRevoked, request.fields[.authorization] == "Bearer token\(state.token)" else {
                    return MockResponse(status: .unauthorized)
                }
                state.answered += 1
                return .json(#"{"amount":\#(request.path.split(separator: "/").last ?? "")}"#)
            }
        }
    }

    @Test(
        "fifty concurrent calls share a token, and a new one after it was revoked", arguments: [(nil, 1), (10, 2)])
    func sharedToken(_ revocation: Int?, _ tokens: Int) async throws {
        let service = TokenService(revokesAfter: revocation)
        let server = try await MockServer.start { service.answer($0) }
        let found = try await prices(of: Array(1...50), at: server.url(), client: "importer", secret: "secret")
        #expect(found == (1...50).map(Double.init))
        #expect(service.tokens == tokens)
        await server.shutdown()
    }

    @Test("a login that fails is the error of the calls that wait for its token")
    func loginFails() async throws {
        let service = TokenService()
        let server = try await MockServer.start { service.answer($0) }
        let error = await #expect(throws: CurlewError.self) {
            try await prices(of: [1, 2], at: server.url(), client: "importer", secret: "wrong")
        }
        #expect(error?.status == .unauthorized && error?.uri?.path == "/oauth/token", "\(error?.description ?? "")")
        await server.shutdown()
    }

    @Test("a login by form follows the redirect with its cookie, and saves the jar")
    func loginForm() async throws {
        let server = try await MockServer.start { request in
            guard request.path == "/login" else {
                let isKnown = request.fields[.cookie] == "session=7"
                return MockResponse(status: isKnown ? .ok : .forbidden, body: "Hello, Ada")
            }
            let form = String(decoding: try await request.body.collect(), as: UTF8.self)
            guard form == "password=p%26ss&user=ada" else { return MockResponse(status: .unauthorized) }
            return MockResponse(
                status: .seeOther, fields: [.location: "/account", .setCookie: "session=7; Path=/; Max-Age=3600"])
        }
        let folder = try TemporaryFolder()
        let page = try await account(
            of: "ada", password: "p&ss", at: server.url(), cookies: folder.path("cookies.txt"))
        #expect(page == "Hello, Ada")
        #expect(folder.text("cookies.txt").contains("session\t7"))
        let error = await #expect(throws: CurlewError.self) {
            try await account(of: "ada", password: "guess", at: server.url(), cookies: folder.path("none.txt"))
        }
        #expect(error?.status == .unauthorized)
        #expect(folder.names == ["cookies.txt"])
        await server.shutdown()
    }

    @Test("a GraphQL query sends its variables, and throws the errors of a response with status 200")
    func graphQL() async throws {
        let server = try await MockServer.start()
        server.enqueue(
            .json(#"{"data":{"bird":{"name":"Numenius"}}}"#), .json(#"{"data":{"bird":null}}"#),
            .json(#"{"data":null,"errors":[{"message":"no such bird"}]}"#))
        #expect(try await nameOfBird(7, at: server.url()) == "Numenius")
        #expect(try await nameOfBird(8, at: server.url()) == nil)
        let failure = await #expect(throws: GraphQLFailure.self) { try await nameOfBird(9, at: server.url()) }
        #expect(failure?.message == "no such bird")
        let sent = try #require(await server.takeRequest())
        #expect(sent.text == #"{"query":"query($id: ID!) { bird(id: $id) { name } }","variables":{"id":7}}"#)
        #expect(sent.fields[.contentType] == "application/json")
        await server.shutdown()
    }

    @Test("a script ends with a code for each kind of failure")
    func script() async throws {
        let server = try await MockServer.start { _ in MockResponse(body: "hello") }
        #expect(await fetch(server.url()) == 0)
        server.enqueue(.notFound)
        #expect(await fetch(server.url()) == 22)
        try server.inject(Fault(.atRequestStart, .stall))
        #expect(await fetch(server.url(), timeout: .milliseconds(100)) == 28)
        #expect(await fetch("no URL") == 1)
        let stranger = try await MockServer.start(.init(tls: ServerTLS([.selfSigned()])))
        #expect(await fetch(stranger.url()) == 60)
        await stranger.shutdown()
        let url = server.url()
        await server.shutdown()
        #expect(await fetch(url) == 7)
    }

    @Test("five calls of AFNetworking are sent as AFNetworking sends them")
    func fromAFNetworking() async throws {
        let server = try await MockServer.start { request in
            switch (request.method, request.path) {
            case (.get, "/items"): .json(#"[{"id":1},{"id":2}]"#)
            case (.post, "/items"): .json(#"{"id":3}"#)
            case (.post, "/photos"): .json(#"{"id":4}"#)
            case (.get, "/big.zip"): MockResponse(body: .pattern(count: 1000))
            default: .json(#"{"reason":"it is locked"}"#, status: .conflict)
            }
        }
        let folder = try TemporaryFolder()
        let photo = try folder.write([1, 2, 3], to: "curlew.jpg")
        #expect(
            try await fiveCalls(to: server.url(), photo: photo, folder: folder.path)
                == ["2 items", "item 3", "photo 4", "1000 bytes", "it is locked"])
        #expect(folder.bytes("big.zip") == BytePattern.bytes(count: 1000))
        let requests = await server.recorded()
        #expect(requests[0].target == "/items?tags%5B%5D=1&tags%5B%5D=2")
        #expect(requests[1].text == "name=a%20b")
        #expect(requests[2].text.contains(#"name="album""#) && requests[2].text.contains(#"filename="curlew.jpg""#))
        await server.shutdown()
    }
}
