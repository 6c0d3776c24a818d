#if Service
import Configuration
import Curlew
import CurlewTesting
import FoundationEssentials
import Testing

@testable import CurlewService

@Suite("Invalid settings of a client")
struct SettingsErrorTests {
    /// Values that are invalid for every key, except those that accept any text.
    private static let wrong = [
        "", " ", "30s ", "\t1", "-1", "nan", "inf", "1e3", "ten", "1,5", "99999999999999999999", "x\ny",
    ]

    @Test("a value of the wrong form is an error that names key, expectation and value")
    func forms() async {
        for entry in SettingsTable.all where !["text", "path", "text, or `none`"].contains(entry.key.form) {
            for text in Self.wrong {
                if entry.key.form.hasPrefix("list of paths") || entry.key.name == "proxy.exceptions" { continue }
                let error = await failure([entry.key.name: .string(text)])
                #expect(error?.code == .invalidRequest, "\(entry.key.name) = \(text)")
                #expect(
                    error?.message.hasPrefix("http.client.\(entry.key.name): expected ") == true,
                    "\(error?.message ?? "")")
                guard !entry.key.isSecret, !text.isEmpty else { continue }
                let shown = "found \"\(text)\"".replacing("\n", with: "\u{FFFD}").replacing("\t", with: "\u{FFFD}")
                #expect(error?.message.hasSuffix(shown) == true, "\(error?.message ?? "")")
            }
        }
    }

    @Test(
        "a text may not be empty, begin or end with a space, or contain a control character",
        arguments: ["", " a", "a ", "a\r\nb"])
    func texts(_ text: String) async {
        for entry in SettingsTable.all where entry.key.form.hasPrefix("text") || entry.key.form == "path" {
            let error = await failure([entry.key.name: .string(text)])
            #expect(error?.message.hasPrefix("http.client.\(entry.key.name): expected ") == true)
        }
    }

    @Test(
        "a value outside its bounds is an error",
        arguments: [
            ("timeouts.connect", "0"), ("timeouts.total", "0s"), ("timeouts.idle", "366d"), ("timeouts.idle", "1e9d"),
            ("timeouts.head", "0.0000000001"), ("timeouts.head", "1.s"), ("timeouts.head", ".5"),
            ("timeouts.head", "1m30s"),
            ("timeouts.head", "1 s"), ("timeouts.head", "1S"), ("timeouts.head", "+1"), ("timeouts.head", "١s"),
            ("connections.per-host", "0"), ("connections.idle", "1000000001"), ("limits.field-count", "60001"),
            ("read-buffer-size", "1023"), ("read-buffer-size", "11MiB"), ("body-buffer-size", "0"),
            ("body-buffer-size", "8589934592GiB"), ("body-buffer-size", "64KB"), ("body-buffer-size", "1.5MiB"),
            ("retry.attempts", "0"), ("redirects.limit", "1001"), ("address-policy.ports", "65536"),
            ("address-policy.ports", "443,"), ("address-policy.deny", "10.0.0.1/8"), ("http-version", "2"),
            ("security.minimum-tls-version", "1.1"), ("security.pins", "sha256/AAAA"),
            ("base-url", "ftp://example.com/"),
            ("base-url", "/v1"), ("route.hosts", "example.com=192.0.2.1"),
            ("route.hosts", "example.com:443=other.example"),
            ("route.redirections", "a:1=b"), ("route.redirections", "a b:1=c:2"), ("route.hosts", "a:0=192.0.2.1"),
            ("proxy.exceptions", "10.0.0.0/99"),
        ])
    func bounds(_ key: String, _ text: String) async {
        let error = await failure([key: .string(text)])
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.hasPrefix("http.client.\(key): ") == true)
        #expect(error?.message.contains(text) == true)
    }

    @Test("a value of another type, or one that the provider cannot read, is an error that names the key")
    func types() async {
        for value in [ConfigContent.boolArray([true]), .bytes([1]), .stringArray(["1s"])] {
            #expect(
                await failure(["timeouts.connect": value])?.message.hasPrefix("http.client.timeouts.connect: ") == true)
        }
        #expect(await failure(["address-policy.ports": .stringArray([])])?.code == .invalidRequest)
        #expect(await failure(["cache.enabled": 5])?.code == .invalidRequest)
    }

    @Test("a long value is shortened in its error")
    func long() async {
        let error = await failure(["timeouts.connect": .string(String(repeating: "9", count: 100_000))])
        #expect((error?.message.count ?? 0) < 300)
    }

    @Test("an error for a key without a scope names the bare key")
    func unscoped() async {
        let provider = InMemoryProvider(values: ["timeouts.connect": "soon"])
        let error = await #expect(throws: CurlewError.self) {
            _ = try await HTTPSession.Settings(reader: ConfigReader(provider: provider))
        }
        #expect(error?.message.hasPrefix("timeouts.connect: expected a duration") == true)
    }

    @Test(
        "contradictory values are an error that names their keys",
        arguments: [
            (["credential.user": "me", "base-url": "https://example.com"], "credential.password"),
            (["credential.password": "p", "base-url": "https://example.com"], "credential.user"),
            (
                ["credential.bearer-token": "t", "credential.user": "me", "base-url": "https://example.com"],
                "credential.user"
            ),
            (["credential.bearer-token": "t"], "base-url"),
            (["fields": "X-API-Key: k"], "base-url"),
            (
                ["credential.bearer-token": "t", "fields": "Authorization: a", "base-url": "https://example.com"],
                "fields"
            ),
            (["address-policy.base": "only"], "address-policy.allow"),
            (["proxy.user": "me"], "proxy.url"),
            (["proxy.url": "none", "proxy.exceptions": "a"], "proxy.url"),
            (["proxy.url": "http://p:1", "proxy.user": "me"], "proxy.password"),
            (["proxy.url": "http://a:b@p:1", "proxy.user": "me", "proxy.password": "p"], "proxy.user"),
            (["proxy.url": "http://p:1", "proxy.user": "a:b", "proxy.password": "p"], "proxy.user"),
            (["redirects.policy": "manual", "redirects.limit": "3"], "redirects.limit"),
            (["security.backup-pins": pin], "security.pins"),
            (["security.key-file": "/nowhere"], "security.certificate-file"),
            (["security.key-passphrase": "p"], "security.certificate-file"),
            (["security.revocation-scope": "chain"], "security.revocation-files"),
        ] as [([String: String], String)])
    func combinations(_ values: [String: String], _ key: String) async {
        let error = await failure(values.mapValues { .string($0) })
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.hasPrefix("http.client.") == true)
        #expect(error?.message.contains(key) == true, "\(error?.message ?? "")")
    }

    @Test("a setting that no session accepts is an error when it is read")
    func session() async {
        #expect(await failure(["security.minimum-tls-version": "1.3", "security.maximum-tls-version": "1.2"]) != nil)
        let error = await failure(["security.ciphers": "NONE-SUCH"])
        #expect(error?.code == .invalidTLSSetting)
        #expect(error?.message.hasPrefix("http.client.security: ") == true)
        #expect(
            await failure(["security.pins": .string(pin), "base-url": "http://example.com/"])?.code
                == .invalidTLSSetting)
    }

    @Test(
        "an unusable file is an error that names key and file",
        arguments: [
            "security.anchors-file", "security.certificate-file", "security.revocation-files", "proxy.anchors-file",
        ])
    func files(_ key: String) async throws {
        let folder = try ScratchFolder()
        let others: [String: ConfigContent] = key.hasPrefix("proxy") ? ["proxy.url": "https://p:1"] : [:]
        for path in [
            "\(folder.path)/missing", folder.path, try folder.write("empty", ""), try folder.write("text", "text"),
        ] {
            let error = await failure(others.merging([key: .string(path)]) { one, _ in one })
            #expect(error?.code == .invalidTLSSetting)
            #expect(error?.message.contains("http.client.\(key)") == true, "\(error?.message ?? "")")
        }
    }
}

let pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#endif
