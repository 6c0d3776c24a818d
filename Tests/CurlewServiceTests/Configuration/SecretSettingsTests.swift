#if Service
import Configuration
import Curlew
import CurlewTesting
import HTTPTypes
import Synchronization
import Testing

@testable import CurlewService

@Suite("Secrets in the settings of a client")
struct SecretSettingsTests {
    private static let secret = "s3cret"

    @Test("a secret value appears in no error")
    func errors() async {
        let others: [String: ConfigContent] = ["base-url": "https://example.com/"]
        for key in HTTPSession.Settings.keys where key.isSecret {
            let values: [ConfigContent] = [
                " s3cret", "s3cret\r\n", "s3cret\u{1}", "://s3cret", "http://me:s3cret@", "http://me:s3cret@a b:1",
                "s3cret://p",
                "a:s3cret@x://y", "http://p:1/s3cret", "ftp://me:s3cret@p:1", "s3cret: a\nb",
                .stringArray(["s3cret\n", "b"]), .bytes(Array("s3cret".utf8)),
                .boolArray([true]),
            ]
            for value in values {
                let read = try? await settings(others.merging([key.name: value]) { one, _ in one })
                guard read == nil else { continue }
                guard let error = await failure(others.merging([key.name: value]) { one, _ in one }) else { continue }
                var dumped = ""
                dump(error, to: &dumped)
                #expect(
                    !"\(error) \(error.message) \(String(reflecting: error)) \(dumped)".contains(Self.secret),
                    "\(error)")
            }
        }
    }

    @Test(
        "a password in a URL appears in no error, even if the key is not secret",
        arguments: ["base-url", "route.redirections", "user-agent"])
    func passwordInURL(_ key: String) async {
        let error = await failure([key: "https://me:s3cret@example.com/ "])
        #expect(error?.message.contains(Self.secret) == false)
        #expect(await failure(["base-url": "https://me:s3cret@example.com/"])?.message.contains(Self.secret) == false)
    }

    @Test("a bearer token with invalid characters appears in no error")
    func token() async {
        let error = await failure(["credential.bearer-token": "s3cret token", "base-url": "https://example.com/"])
        #expect(error?.message.hasPrefix("http.client.credential: ") == true)
        #expect(error.map { "\($0)".contains(Self.secret) } == false)
    }

    @Test("secret keys are read as secrets, and other keys are not")
    func reported() async throws {
        let accesses = Accesses()
        let values: [String: ConfigContent] = [
            "base-url": "https://example.com/", "fields": "X-API-Key: s3cret", "credential.bearer-token": "s3cret",
            "proxy.url": "http://p:1", "proxy.user": "me", "proxy.password": "s3cret", "timeouts.connect": "1s",
        ]
        _ = try await HTTPSession.Settings(reader: reader(values, reporter: accesses))
        let secrets = accesses.events.withLock { $0 }.filter(\.isSecret).map(\.key)
        #expect(
            Set(secrets) == [
                "http.client.fields", "http.client.credential.bearer-token", "http.client.proxy.url",
                "http.client.proxy.password",
            ])
        #expect(accesses.events.withLock { $0 }.count == 7)
    }

    @Test("the description of settings contains no secret")
    func description() async throws {
        let read = try await settings([
            "base-url": "https://example.com/", "fields": "X-API-Key: s3cret", "credential.bearer-token": "s3cret",
            "proxy.url": "http://me:s3cret@p:1",
        ])
        var dumped = ""
        dump(read, to: &dumped)
        #expect(!"\(read) \(String(reflecting: read)) \(dumped)".contains(Self.secret))
        #expect("\(read)" == "settings of a client for https://example.com:443")
    }

    @Test("a credential is sent only to the origin of the base URL")
    func origins() async throws {
        let other = try await MockServer.start { _ in MockResponse(body: "other") }
        let elsewhere = other.url("/elsewhere")
        let server = try await MockServer.start { _ in
            MockResponse(status: .found, fields: [.location: elsewhere])
        }
        let api = try await HTTPSession(
            reader: reader([
                "base-url": .string(server.url()), "credential.bearer-token": "s3cret", "user-agent": "birds/1",
                "fields": .stringArray(["X-API-Key: s3cret", "Accept-Language: en"]),
            ]))
        #expect(try await api.get("").text() == "other")
        let first = try #require(await server.takeRequest())
        #expect(first.fields[.authorization] == "Bearer s3cret")
        #expect(first.fields[.userAgent] == "birds/1")
        let second = try #require(await other.takeRequest())
        #expect(second.fields[.authorization] == nil)
        #expect(second.fields[HTTPField.Name("X-API-Key")!] == nil)
        #expect(second.fields[.acceptLanguage] == "en")
        await api.shutdown()
        await server.shutdown()
        await other.shutdown()
    }

    /// The recorded accesses of a configuration reader.
    private final class Accesses: AccessReporter {
        let events = Mutex<[(key: String, isSecret: Bool)]>([])

        func report(_ event: AccessEvent) {
            guard case .success(let value?) = event.result else { return }
            events.withLock { $0.append((event.metadata.key.description, value.isSecret)) }
        }
    }
}
#endif
