import CurlewTesting
import CurlewTestingTraits
import Foundation
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCache
@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Options that choose the source of a response", .noLeaks, .timeLimit(.minutes(2)))
struct CacheSourceTests {
    /// Sends a GET with options, and returns a summary.
    private func get(
        _ scene: CacheScene, _ options: RequestOptions = RequestOptions(), _ path: String = "/",
        _ fields: HTTPFields = [:]
    ) async throws -> String {
        let request = try CurlewRequest(.get, scene.server.url(path), fields: fields, options: options)
        let response = try await scene.api.send(request)
        let text = String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
        return "\(response.status.code) \(text) \(response.cacheStatus?.rawValue ?? "-")"
    }

    private func scene() async throws -> CacheScene {
        try await CacheScene { .numbered($1, [.cacheControl: "max-age=60"]) }
    }

    private func changed(_ change: (inout RequestOptions) throws -> Void) rethrows -> RequestOptions {
        var options = RequestOptions()
        try change(&options)
        return options
    }

    /// Options that use another route to the server of a scene.
    private func sources(_ scene: CacheScene, _ proxy: MockProxy) throws -> [String: RequestOptions] {
        let port = scene.server.port
        var security = SecurityPolicy.system
        security.minimumTLSVersion = .tls13
        let loopback = AddressPolicy.only([try IPNetwork("127.0.0.0/8")])
        return try [
            "none": RequestOptions(),
            "redirection": changed { $0.route = .init(redirections: [.init(toHost: "127.0.0.1", toPort: port)]) },
            "family": changed { $0.route = .init(addressFamily: .ipv4) },
            "interface": changed { $0.route = .init(localInterface: "127.0.0.1") },
            "addresses": changed { $0.addressPolicy = loopback },
            "ports": changed { $0.addressPolicy = loopback.ports(port, 443) },
            "proxy": changed { $0.proxy = .proxy(try Proxy(proxy.url)) },
            "user of the proxy": changed {
                $0.proxy = .proxy(try Proxy(proxy.url).authenticated(user: "u", password: "p"))
            },
            "security": changed { $0.security = security },
            "partition": changed { $0.cachePartition = "1" },
            "partition by a proxy": changed {
                $0.cachePartition = "1"
                $0.proxy = .proxy(try Proxy(proxy.url))
            },
            "partition with the mark of a source": changed { $0.cachePartition = "via:;1" },
        ]
    }

    @Test("each source has its own entries, and finds them again")
    func apart() async throws {
        let scene = try await scene()
        let proxy = try await MockProxy.start()
        var texts: [String: String] = [:]
        let sources = try sources(scene, proxy)
        for (name, options) in sources {
            let text = try await get(scene, options)
            #expect(text.hasSuffix("miss"), "\(name): \(text)")
            texts[name] = text
        }
        #expect(Set(texts.values).count == sources.count)
        for (name, options) in sources {
            let expected = texts[name]?.replacing("miss", with: "hit")
            #expect(try await get(scene, options) == expected, "\(name)")
        }
        await proxy.shutdown()
    }

    @Test("a change of a resource removes its entries of every source, also for Location and manual removal")
    func invalidation() async throws {
        let scene = try await CacheScene { request, number in
            guard request.method == .post else { return .numbered(number, [.cacheControl: "max-age=60"]) }
            return .numbered(number, [.location: "/b", .contentLocation: "/c"], 201)
        }
        let proxy = try await MockProxy.start()
        let sources = try sources(scene, proxy)
        let route = try #require(sources["redirection"])
        for sent in [RequestOptions(), route] {
            for (_, options) in sources {
                for path in ["/a", "/b", "/c"] { _ = try await get(scene, options, path) }
            }
            let post = try CurlewRequest(.post, scene.server.url("/a"), body: .string("x"), options: sent)
            await (try await scene.api.send(post)).discard()
            for (name, options) in sources {
                for path in ["/a", "/b", "/c"] {
                    let text = try await get(scene, options, path)
                    #expect(text.hasSuffix("miss"), "\(name) \(path): \(text)")
                }
            }
        }
        try await scene.cache.remove(CurlewURI(scene.server.url("/a")))
        for (name, options) in sources {
            #expect(try await get(scene, options, "/a").hasSuffix("miss"), "\(name)")
        }
        await proxy.shutdown()
    }

    @Test("a response through a request's proxy does not answer requests without the proxy")
    func proxy() async throws {
        let scene = try await scene()
        let proxy = try await rawAnswer(
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=6000\r\nContent-Length: 4\r\n\r\nevil")
        let options = try changed { $0.proxy = .proxy(try Proxy("http://127.0.0.1:\(proxy.port)")) }
        #expect(try await get(scene, options) == "200 evil miss")
        #expect(try await get(scene) == "200 1 miss")
        #expect(try await get(scene, options) == "200 evil hit")
        // A proxy configuration `none` is the same source as no proxy.
        #expect(try await get(scene, changed { $0.proxy = Proxy.Configuration.none }) == "200 1 hit")
        await proxy.shutdown()
    }

    @Test("a stored response from a forbidden address does not answer a request whose policy forbids it")
    func addressPolicy() async throws {
        let scene = try await scene()
        #expect(try await get(scene) == "200 1 miss")
        let options = changed { $0.addressPolicy = .publicOnly }
        let error = await curlewError { _ = try await get(scene, options) }
        #expect(error?.code == .addressForbidden)
        for policy in [HTTPCache.Policy.onlyIfCached, .forceCache] {
            let stored = changed {
                $0.addressPolicy = .publicOnly
                $0.cachePolicy = policy
            }
            let text = try? await get(scene, stored)
            #expect(text == (policy == .onlyIfCached ? "504  miss" : nil))
        }
        #expect(try await get(scene, changed { $0.addressPolicy = .any }) == "200 1 hit")
    }

    @Test("a stored response to a pinned request does not answer an unpinned one, or the reverse")
    func pins() async throws {
        let chain = try TestChain.selfSigned.get()
        let server = try await MockServer.start(.init(tls: ServerTLS([chain]))) { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "ok")
        }
        let cache = HTTPCache()
        let api = try makeSession(security: .anchors(pem: chain.certificatePEM)) { cache }
        let url = "https://localhost:\(server.port)/"
        #expect(try await api.fetch(url) == Array("ok".utf8))
        var pinned = SecurityPolicy.anchors(pem: chain.certificatePEM)
        pinned.pinning = .keys(
            SecurityPolicy.PinSet([
                try SecurityPolicy.Pin("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
            ]))
        let options = changed { $0.security = pinned }
        let error = await curlewError { _ = try await api.fetch(url, options: options) }
        #expect(error != nil)
        let same = changed { $0.security = .anchors(pem: chain.certificatePEM) }
        #expect(try await api.get(.raw(url), options: same).cacheStatus == .hit)
        await server.shutdown()
    }

    @Test("a policy with custom code bypasses the cache")
    func evaluator() async throws {
        let scene = try await scene()
        var policy = SecurityPolicy.system
        policy.evaluator = SecurityPolicy.Evaluator { _ in .accept }
        let options = changed { $0.security = policy }
        #expect(try await get(scene, options) == "200 1 bypass")
        #expect(try await get(scene, options) == "200 2 bypass")
    }

    @Test("sessions with a common cache share responses only if their connection settings are equal")
    func sessions() async throws {
        let server = try await MockServer.start { _ in
            MockResponse(fields: [.cacheControl: "max-age=60"], body: "ok")
        }
        let cache = HTTPCache()
        func session(_ policy: AddressPolicy) throws -> HTTPSession {
            var configuration = SessionConfiguration()
            configuration.addressPolicy = policy
            return try HTTPSession(
                baseURL: server.url(), configuration: configuration,
                eventLoops: [CurlewEventLoop(name: "curlew-test")], chain: .bare
            ) { cache }
        }
        func status(_ api: HTTPSession) async throws -> HTTPCache.Status? {
            let response = try await api.get("/")
            _ = try await response.body.collect(upTo: 10)
            return response.cacheStatus
        }
        let (any, loopback) = (try session(.any), try session(.only([try IPNetwork("127.0.0.0/8")])))
        let publicOnly = try session(.publicOnly)
        #expect(try await status(any) == .miss)
        #expect(try await status(loopback) == .miss)
        #expect(try await status(any) == .hit)
        #expect(try await status(loopback) == .hit)
        let error = await curlewError { _ = try await status(publicOnly) }
        #expect(error?.code == .addressForbidden)
        await server.shutdown()
    }

    @Test("an option set by a link behind the cache separates responses, unless the caller names a partition")
    func keyed() async throws {
        let server = try await MockServer.start { request in
            .init(
                fields: [.cacheControl: "max-age=60"],
                body: .string(request.fields[HTTPField.Name("X-Choice")!] ?? "nobody"))
        }
        let cache = HTTPCache()
        let api = try makeSession {
            cache
            Link { request, next in
                var request = request
                request.fields[HTTPField.Name("X-Choice")!] = request.options.choice
                return try await next(request)
            }
        }
        func get(_ choice: String, partition: String? = nil) async throws -> String {
            var options = RequestOptions()
            options.choice = choice
            options.cachePartition = partition
            let response = try await api.get(.raw(server.url()), options: options)
            let text = String(decoding: try await response.body.collect(upTo: 10), as: UTF8.self)
            return "\(text) \(response.cacheStatus?.rawValue ?? "-")"
        }
        #expect(try await get("a") == "a bypass")
        #expect(try await get("b") == "b bypass")
        #expect(try await get("a", partition: "a") == "a miss")
        #expect(try await get("b", partition: "b") == "b miss")
        #expect(try await get("a", partition: "a") == "a hit")
        await server.shutdown()
    }

    @Test("each option of a request is in the table of sources")
    func table() throws {
        let table = try Repository.text(of: "Sources/CurlewCore/Message/ResponseSource.swift")
        let options = RequestOptions(tag: "a")
        var names: [String] = []
        func collect(_ value: Any, depth: Int) {
            for child in Mirror(reflecting: value).children {
                if depth == 3, let label = child.label { names.append(label) }
                if depth < 3 { collect(child.value, depth: depth + 1) }
            }
        }
        // The options contain a storage object in an optional. Three levels of nesting lead to the values.
        collect(options, depth: 0)
        #expect(names.count > 15)
        let notes: Set = ["keyed", "isResponseAffected", "sourceKeys", "hasForeignKeys"]
        for name in names where !notes.contains(name) { #expect(table.contains("`\(name)`"), "\(name)") }
    }

    @Test("options without influence on the response find the stored entry")
    func carriage() async throws {
        let scene = try await scene()
        #expect(try await get(scene) == "200 1 miss")
        let options = changed {
            $0.versionPolicy = .http11
            $0.totalTimeout = .seconds(40)
            $0.tag = "a"
            $0.isIdempotent = true
            $0.rateLimit = nil
            $0.bodyBufferSize = .kibibytes(64)
            $0.connectivityTimeout = .seconds(1)
            $0.priority = .high
            $0.onTask = { _ in }
        }
        #expect(try await get(scene, options) == "200 1 hit")
    }

    @Test("a Host field is a separate source, in any letter case")
    func host() async throws {
        let scene = try await scene()
        let host = HTTPField.Name("Host")!
        #expect(try await get(scene) == "200 1 miss")
        #expect(try await get(scene, RequestOptions(), "/", [host: "a.test"]) == "200 2 miss")
        #expect(try await get(scene, RequestOptions(), "/", [host: "A.test"]) == "200 2 hit")
        _ = try await scene.send(.post, "/")
        #expect(try await get(scene, RequestOptions(), "/", [host: "a.test"]) == "200 4 miss")
    }
}

extension RequestOptions {
    private enum ChoiceKey: Key { static let defaultValue: String? = nil }

    fileprivate var choice: String? {
        get { self[ChoiceKey.self] }
        set { self[ChoiceKey.self] = newValue }
    }
}
