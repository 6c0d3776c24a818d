import CurlewTesting
import HTTPTypes
import TestHelpers
import Testing

@testable import CurlewCore
@testable import CurlewTransfers

@Suite("Options in one line")
struct OptionsTests {
    @Test("each argument of an initializer of request options sets its option")
    func request() throws {
        let policy = AddressPolicy.publicOnly.ports(443)
        let options = RequestOptions(
            connectionWaitTimeout: .seconds(1), connectTimeout: .seconds(2), headTimeout: .seconds(3),
            idleTimeout: .seconds(4), totalTimeout: .seconds(5), versionPolicy: .http11,
            route: ConnectionRoute(unixSocket: "/tmp/s"), addressPolicy: policy, proxy: Proxy.Configuration.none,
            readBufferSize: .kibibytes(6), bodyBufferSize: .kibibytes(7), rateLimit: RateLimit.none,
            expectContinue: .seconds(8), tag: "tag", isIdempotent: true, secretFields: [.apiKey])
        #expect(options.connectionWaitTimeout == .seconds(1) && options.connectTimeout == .seconds(2))
        #expect(options.headTimeout == .seconds(3) && options.idleTimeout == .seconds(4))
        #expect(options.totalTimeout == .seconds(5) && options.versionPolicy == .http11)
        #expect(options.route?.unixSocket == "/tmp/s" && options.addressPolicy == policy)
        #expect(options.proxy == Proxy.Configuration.none && options.rateLimit == RateLimit.none)
        #expect(options.readBufferSize == .kibibytes(6) && options.bodyBufferSize == .kibibytes(7))
        #expect(options.expectContinue == .seconds(8) && options.tag == "tag" && options.isIdempotent == true)
        #expect(options.secretFields == [.apiKey])
    }

    @Test("options without any value allocate no object, and links' options can follow in the same line")
    func noneSet() {
        #expect(!RequestOptions().isAnySet && !RequestOptions(tag: nil).isAnySet)
        #expect(RequestOptions(tag: "tag").isAnySet)
        let options = RequestOptions(totalTimeout: .seconds(5)).setting(\.maximumAttempts, to: 1)
            .setting(\.headTimeout, to: .seconds(2))
        #expect(options.totalTimeout == .seconds(5) && options.maximumAttempts == 1)
        #expect(options.headTimeout == .seconds(2))
    }

    @Test("a configuration is created from its differences to the defaults, and survives encoding and decoding")
    func configuration() throws {
        let configuration = SessionConfiguration(
            timeouts: Timeouts(head: .seconds(5)), connections: ConnectionLimits(perHost: 8),
            addressPolicy: .publicOnly.httpsOnly(), tasksInFlight: 3)
        var expected = SessionConfiguration()
        expected.timeouts.head = .seconds(5)
        expected.connections.perHost = 8
        expected.addressPolicy = .publicOnly.httpsOnly()
        expected.tasksInFlight = 3
        #expect(configuration == expected)
        #expect(try decoded(configuration) == configuration)
    }

    @Test("a session has the defaults of a server's client")
    func defaults() {
        let configuration = SessionConfiguration()
        #expect(configuration.connections.perHost == 64 && configuration.connections.streamsPerConnection == 0)
        #expect(configuration.timeouts.connectionWait == .seconds(10) && configuration.timeouts.head == .seconds(30))
        #expect(configuration.timeouts.total == Timeouts.unlimited)
        #expect(Timeouts.unlimited.isUnlimited && !Duration.seconds(604_800).isUnlimited)
    }

    @Test(
        "a copy of a request, a response or options is independent of the original"
    )
    func copies() throws {
        var request = try CurlewRequest(.get, "http://a.test/", fields: [.accept: "a"])
        request.options.tag = "first"
        var copy = request
        copy.fields[.accept] = "b"
        copy.options.tag = "second"
        request.method = .put
        #expect(request.fields[.accept] == "a" && request.options.tag == "first" && request.method == .put)
        #expect(copy.fields[.accept] == "b" && copy.options.tag == "second" && copy.method == .get)

        let options = request.options
        request.options.idleTimeout = .seconds(1)
        #expect(options.idleTimeout == nil && options.tag == "first")

        var response = CurlewResponse(.ok, fields: [.accept: "a"], uri: request.uri)
        let original = response
        response.fields[.accept] = "b"
        response.attempts = 2
        #expect(original.fields[.accept] == "a" && original.attempts == 1)
        #expect(response.fields[.accept] == "b" && response.attempts == 2)
    }
}
