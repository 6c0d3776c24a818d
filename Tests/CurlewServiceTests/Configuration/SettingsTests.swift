#if Service
import Configuration
import Curlew
import FoundationEssentials
import HTTPTypes
import Testing

@testable import CurlewService

@Suite("Settings of a client from a configuration")
struct SettingsTests {
    @Test("an empty configuration keeps every default")
    func empty() async throws {
        let read = try await settings([:])
        #expect(read.session == SessionConfiguration())
        #expect(read.baseURL == nil)
        #expect(read.defaultFields.isEmpty)
        #expect(read.chain.cache == nil)
        #expect(read.chain.retry?.policy.attempts == 3)
        #expect(try await SessionConfiguration(reader: reader([:])) == SessionConfiguration())
    }

    @Test(
        "each key changes its setting",
        arguments: Sample.client + Sample.bounds + Sample.network + Sample.links)
    func sample(_ sample: Sample) async throws {
        let read = try await settings(sample.others.merging([sample.key: sample.value]) { one, _ in one })
        #expect(sample.holds(read))
        let without = HTTPSession.Settings()
        #expect(!sample.holds(without), "the sample holds for the default as well")
    }

    @Test("each key has a sample, except keys that need a file or a pin")
    func complete() {
        let samples = (Sample.client + Sample.bounds + Sample.network + Sample.links).map(\.key)
        let others = HTTPSession.Settings.keys.map(\.name).filter { $0.hasPrefix("security.") } + ["proxy.anchors-file"]
        #expect((samples + others).sorted() == HTTPSession.Settings.keys.map(\.name).sorted())
    }

    @Test("the program's own defaults apply to missing keys")
    func ownDefaults() async throws {
        var defaults = HTTPSession.Settings(baseURL: "https://example.com/")
        defaults.session.timeouts.connect = .seconds(1)
        defaults.session.addressPolicy = .publicOnly
        defaults.session.proxy = .environment
        defaults.defaultFields = [.acceptLanguage: "de", .accept: "text/plain"]
        defaults.chain.retry = nil
        defaults.chain.cache = HTTPCache()
        let read = try await HTTPSession.Settings(
            reader: reader(["fields": "Accept-Language: en", "timeouts.head": 1]), defaults: defaults)
        #expect(read.baseURL == defaults.baseURL)
        #expect(read.session.timeouts == Timeouts(connect: .seconds(1), head: .seconds(1)))
        #expect(read.session.addressPolicy == .publicOnly)
        #expect(read.session.proxy == .environment)
        #expect(read.defaultFields == [.accept: "text/plain", .acceptLanguage: "en"])
        #expect(read.chain.retry == nil)
        #expect(read.chain.cache != nil)
        let without = try await HTTPSession.Settings(reader: reader(["cache.enabled": false]), defaults: defaults)
        #expect(without.chain.cache == nil)
    }

    @Test("a key that forbids addresses or URLs keeps the program's own address policy")
    func narrowedPolicy() async throws {
        var defaults = HTTPSession.Settings(baseURL: "https://example.com/")
        defaults.session.addressPolicy = .publicOnly
        let read = try await HTTPSession.Settings(
            reader: reader(["address-policy.deny": "8.8.8.0/24", "address-policy.https-only": true]),
            defaults: defaults)
        #expect(!read.session.addressPolicy.permits("127.0.0.1"))
        #expect(!read.session.addressPolicy.permits("8.8.8.8"))
        #expect(read.session.addressPolicy.permits("1.1.1.1"))
        #expect(read.session.addressPolicy.requiresHTTPS)
        let replaced = try await HTTPSession.Settings(
            reader: reader(["address-policy.base": "any"]), defaults: defaults)
        #expect(replaced.session.addressPolicy == .any)
    }

    @Test("a default that is displayed as a value can be set, and changes nothing")
    func defaults() async throws {
        // These keys are valid only together with other keys.
        let dependent: Set = ["proxy.authentication", "security.revocation-scope"]
        for key in HTTPSession.Settings.keys where !key.isSecret && !dependent.contains(key.name) {
            guard let text = key.defaultValue, !text.contains(" ") else { continue }
            let read = try await settings([key.name: .string(text)])
            #expect(read.session == SessionConfiguration(), "\(key.name)")
        }
    }

    @Test("a session's configuration reads the keys of sessions and ignores the others")
    func sessionAlone() async throws {
        let read = try await SessionConfiguration(
            reader: reader(["timeouts.connect": "1s", "base-url": "no URL", "retry.attempts": "many"]))
        #expect(read.timeouts.connect == .seconds(1))
    }

    @Test("environment variables have the names of the keys in capitals")
    func environment() async throws {
        let provider = EnvironmentVariablesProvider(environmentVariables: [
            "HTTP_CLIENT_TIMEOUTS_CONNECTION_WAIT": "250ms", "HTTP_CLIENT_ADDRESS_POLICY_PORTS": "443, 8443",
            "HTTP_CLIENT_CACHE_ENABLED": "TRUE", "HTTP_CLIENT_FIELDS": "Accept-Language: en,X-A: b",
        ])
        let read = try await HTTPSession.Settings(reader: ConfigReader(provider: provider).scoped(to: scope))
        #expect(read.session.timeouts.connectionWait == .milliseconds(250))
        #expect(read.session.addressPolicy.allowedPorts == [443, 8443])
        #expect(read.chain.cache != nil)
        #expect(read.defaultFields.count == 2)
    }

    @Test("numbers, Booleans and lists in a file may be written as values or as text")
    func file() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write(
            "config.json",
            #"""
            {"http": {"client": {
                "timeouts": {"connect": 5, "head": 0.25, "idle": "1m"},
                "retry": {"attempts": 4},
                "cache": {"enabled": true},
                "address-policy": {"deny": ["10.0.0.0/8", "192.168.0.0/16"], "ports": [80, 443]},
                "security": {"minimum-tls-version": 1.3}
            }}}
            """#)
        let provider = try await FileProvider<JSONSnapshot>(
            config: ConfigReader(
                provider: InMemoryProvider(values: ["filePath": .init(.string(path), isSecret: false)])))
        let read = try await HTTPSession.Settings(reader: ConfigReader(provider: provider).scoped(to: scope))
        #expect(read.session.timeouts == Timeouts(connect: .seconds(5), head: .milliseconds(250), idle: .seconds(60)))
        #expect(read.chain.retry?.policy.attempts == 4)
        #expect(read.chain.cache != nil)
        #expect(read.session.addressPolicy.denied.count == 2)
        #expect(read.session.addressPolicy.allowedPorts == [80, 443])
        #expect(read.session.security.minimumTLSVersion == .tls13)
    }

    @Test(
        "a duration is a number with a unit, or a number of seconds",
        arguments: [
            ("30s", .seconds(30)), ("30", .seconds(30)), ("250ms", .milliseconds(250)), ("7us", .microseconds(7)),
            ("2m", .seconds(120)), ("1.5h", .seconds(5400)), ("365d", .seconds(365 * 86_400)),
            ("0.000000001", .nanoseconds(1)), ("007", .seconds(7)),
        ] as [(String, Duration)])
    func duration(_ text: String, _ expected: Duration) async throws {
        #expect(try await settings(["timeouts.connect": .string(text)]).session.timeouts.connect == expected)
    }

    @Test(
        "a size is a number with a unit of powers of two, or a number of bytes",
        arguments: [("1", 1), ("12B", 12), ("64KiB", 65_536), ("3MiB", 3 << 20), ("2GiB", 2 << 30), ("1TiB", 1 << 40)])
    func size(_ text: String, _ expected: Int) async throws {
        #expect(try await settings(["body-buffer-size": .string(text)]).session.bodyBufferSize == ByteSize(expected))
    }

    @Test("environment variables have the names that the provider of swift-configuration reads")
    func variableNames() async throws {
        for components in [["http", "client"], ["birds", "apiClient"], ["a-b", "Über1x"]] {
            for key in HTTPSession.Settings.keys {
                let name = VariableName.encoded(components + key.configKey.components)
                let provider = EnvironmentVariablesProvider(environmentVariables: [name: "there"])
                let reader = ConfigReader(provider: provider).scoped(to: ConfigKey(components))
                #expect(reader.string(forKey: key.configKey) == "there", "\(name)")
            }
        }
    }
}
#endif
