import Curlew
import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCredentials

@Suite("A token in its store during logins, logouts and renewals", .endsServers, .timeLimit(.minutes(2)))
struct OAuthStoreTests {
    typealias Issuer = OAuthCredentialTests.Issuer

    let servers = OAuthCredentialTests()

    /// A store whose first save of a token lasts until its task is cancelled.
    actor SlowStore: OAuth.TokenStore {
        private(set) var token: OAuth.Token?
        private var isSlow = true
        private let began = AsyncStream.makeStream(of: Void.self)
        private let never = AsyncStream.makeStream(of: Void.self)

        init(_ token: OAuth.Token?) { self.token = token }

        func load() -> OAuth.Token? { token }

        func save(_ token: OAuth.Token?) async {
            if token != nil, isSlow {
                isSlow = false
                began.continuation.finish()
                // The stream ends when the task is cancelled.
                for await _ in never.stream {}
            }
            self.token = token
        }

        /// Waits until a save of a token has begun.
        nonisolated func waitForSave() async { for await _ in began.stream {} }
    }

    /// A store whose loads last until it is released. A cancellation does not end them.
    actor HangingStore: OAuth.TokenStore {
        private(set) var token: OAuth.Token?
        private let began = AsyncStream.makeStream(of: Void.self)
        private let gate = AsyncStream.makeStream(of: Void.self)

        init(_ token: OAuth.Token?) { self.token = token }

        func load() async -> OAuth.Token? {
            began.continuation.finish()
            // An unstructured task is not cancelled with the task that waits for it.
            let stream = gate.stream
            await Task { for await _ in stream {} }.value
            return token
        }

        func save(_ token: OAuth.Token?) { self.token = token }

        /// Waits until a load has begun.
        nonisolated func waitForLoad() async { for await _ in began.stream {} }

        nonisolated func release() { gate.continuation.finish() }
    }

    func expired() throws -> OAuth.Token {
        try OAuth.Token(
            accessToken: "SECRET-old", refreshToken: "SECRET-refresh-0", expiration: Date(timeIntervalSinceNow: -1))
    }

    @Test("a logout during a renewal removes the user's token for good, and requests that wait for it fail")
    func logout() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await servers.api()
        let store = SlowStore(try expired())
        let (session, credential) = try servers.session(api, tokens, grant: nil, store: store)
        let call = Task { try await servers.text(session, api) }
        await store.waitForSave()
        try await credential.forget()
        #expect(await store.token == nil)
        #expect(await curlewError { _ = try await call.value }?.code == .credentialUnavailable)
        #expect(await curlewError { _ = try await servers.text(session, api) }?.code == .credentialUnavailable)
        #expect(await store.token == nil)
        #expect(await issuer.forms.count == 1)
        #expect(api.requestCount == 0)
    }

    @Test("a client that acts for itself gets a new token for the requests that wait during a removal")
    func removal() async throws {
        let issuer = Issuer()
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await servers.api()
        let store = SlowStore(nil)
        let (session, credential) = try servers.session(api, tokens, grant: .clientCredentials(), store: store)
        let call = Task { try await servers.text(session, api) }
        await store.waitForSave()
        try await credential.forget()
        #expect(try await call.value == "Bearer SECRET-2")
        #expect(await store.token?.accessToken == "SECRET-2")
    }

    @Test("a login after a logout is neither overwritten nor removed by the renewal of the former user")
    func nextUser() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await servers.api()
        let store = SlowStore(try expired())
        let (session, credential) = try servers.session(api, tokens, grant: nil, store: store)
        let call = Task { try await servers.text(session, api) }
        await store.waitForSave()
        try await credential.forget()
        await store.save(try OAuth.Token(accessToken: "SECRET-next"))
        #expect(await curlewError { _ = try await call.value }?.code == .credentialUnavailable)
        #expect(try await servers.text(session, api) == "Bearer SECRET-next")
        #expect(await store.token?.accessToken == "SECRET-next")
    }

    @Test("a login during a renewal replaces the renewed token")
    func login() async throws {
        let store = OAuth.MemoryTokenStore(try expired())
        let tokens = try await MockServer.start { _ in
            await store.save(try OAuth.Token(accessToken: "SECRET-login"))
            return MockResponse(body: #"{"access_token":"SECRET-late","token_type":"Bearer"}"#)
        }
        let api = try await servers.api()
        let (session, _) = try servers.session(api, tokens, grant: nil, store: store)
        #expect(try await servers.text(session, api) == "Bearer SECRET-login")
        #expect(await store.load()?.accessToken == "SECRET-login")
    }

    @Test("a refresh token that another process has used before is replaced by the token of that process")
    func otherProcess() async throws {
        let store = OAuth.MemoryTokenStore(try expired())
        let tokens = try await MockServer.start { _ in
            await store.save(try OAuth.Token(accessToken: "SECRET-other", refreshToken: "SECRET-refresh-1"))
            return MockResponse(status: .badRequest, body: #"{"error":"invalid_grant"}"#)
        }
        let api = try await servers.api()
        let (session, _) = try servers.session(api, tokens, grant: nil, store: store)
        #expect(try await servers.text(session, api) == "Bearer SECRET-other")
        #expect(await store.load()?.refreshToken == "SECRET-refresh-1")
        #expect(tokens.requestCount == 1)
    }

    @Test("a user's token that another process has removed from the store is not renewed")
    func removedElsewhere() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await MockServer.start { request in
            MockResponse(status: request.target == "/" ? .ok : .unauthorized, body: "birds")
        }
        let store = OAuth.MemoryTokenStore(
            try OAuth.Token(accessToken: "SECRET-first", refreshToken: "SECRET-refresh-0"))
        let (session, _) = try servers.session(api, tokens, grant: nil, store: store)
        #expect(try await servers.text(session, api) == "birds")
        await store.save(nil)
        let error = await curlewError { _ = try await session.get(.raw(api.url("/refused"))) }
        #expect(error?.code == .credentialUnavailable)
        #expect(await issuer.forms.isEmpty)
        #expect(await store.load() == nil)
    }

    @Test("a store may contain any date of expiration", arguments: [1e300, -1e300, .infinity, -.infinity, .nan])
    func dates(_ seconds: Double) throws {
        let token = try OAuth.Token(accessToken: "a", expiration: Date(timeIntervalSince1970: seconds))
        let source = OAuthTokenSource(
            endpoint: try OAuth.Endpoint("https://as.example.com/", client: servers.client), grant: nil,
            store: OAuth.MemoryTokenStore(), rule: TokenRenewal(), now: { Date() })
        let time = try #require(source.usableTime(token))
        #expect(time >= .zero && time <= .seconds(OAuth.Lifetime.longest))
    }

    @Test("a file of a token that exists and cannot be opened is an error, and not a missing token")
    func unreadable() async throws {
        let folder = try ScratchFolder()
        let path = "\(folder.path)/loop"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        let store = OAuth.FileTokenStore(path)
        #expect(await curlewError { _ = try await store.load() }?.code == .invalidCredential)
        // The link is replaced, and its target is not followed.
        try await store.save(OAuth.Token(accessToken: "SECRET"))
        #expect(try await store.load()?.accessToken == "SECRET")
        try await store.save(nil)
        #expect(try await store.load() == nil)
    }

    @Test("turns are in the order in which they were taken, and a removal makes earlier ones obsolete")
    func turns() async throws {
        let turns = StoreTurns()
        let first = turns.take()
        let second = turns.take()
        let removal = turns.takeForRemoval()
        let last = turns.take()
        let order = Guarded<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, turn) in [last, removal, second, first].enumerated() {
                group.addTask {
                    try await turns.wait(for: turn)
                    order.withLock { $0.append(3 - number) }
                    turns.end()
                }
            }
            try await group.waitForAll()
        }
        #expect(order.withLock { $0 } == [0, 1, 2, 3])
        #expect(!turns.isCurrent(first) && !turns.isCurrent(second))
        #expect(turns.isCurrent(removal) && turns.isCurrent(last))
    }

    @Test("a cancelled wait for a turn ends, and its turn is skipped")
    func cancelledTurn() async throws {
        let turns = StoreTurns()
        let running = turns.take()
        try await turns.wait(for: running)
        let skipped = turns.take()
        let next = turns.take()
        let wait = Task { try await turns.wait(for: skipped) }
        wait.cancel()
        #expect(await curlewError { try await wait.value }?.code == .cancelled)
        turns.end()
        try await turns.wait(for: next)
    }

    @Test("a logout that waits for a store that hangs can be cancelled, and the next logout removes the token")
    func cancelledLogout() async throws {
        let issuer = Issuer(refreshes: true)
        let tokens = try await MockServer.start { try await issuer.answer($0) }
        let api = try await servers.api()
        let store = HangingStore(try expired())
        let (session, credential) = try servers.session(api, tokens, grant: nil, store: store)
        let call = Task { try await servers.text(session, api) }
        await store.waitForLoad()
        let logout = Task { try await credential.forget() }
        logout.cancel()
        #expect(await curlewError { try await logout.value }?.code == .cancelled)
        #expect(await curlewError { _ = try await call.value }?.code == .credentialUnavailable)
        #expect(await store.token != nil)
        store.release()
        try await credential.forget()
        #expect(await store.token == nil)
    }
}
