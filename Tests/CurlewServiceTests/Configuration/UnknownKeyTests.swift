#if Service
import Configuration
import Curlew
import Testing

@testable import CurlewService

@Suite("Unknown keys")
struct UnknownKeyTests {
    @Test("a misspelled variable is an error that proposes the right one and does not contain the value")
    func misspelled() {
        let error = #expect(throws: CurlewError.self) {
            try HTTPSession.Settings.checkEnvironment(
                [
                    "HTTP_CLIENT_TIMEOUT_CONNECT": "s3cret", "HTTP_CLIENT_BANANA": "s3cret",
                    "HTTP_CLIENT_BASE_URL": "x",
                    "HTTP_CLIENTS": "x", "PATH": "/bin",
                ], scope: scope)
        }
        #expect(error?.code == .invalidRequest)
        #expect(
            error?.message == "unknown environment variable: HTTP_CLIENT_BANANA, HTTP_CLIENT_TIMEOUT_CONNECT "
                + "(did you mean HTTP_CLIENT_TIMEOUTS_CONNECT?)")
    }

    @Test("variables of other scopes, or with other readers, are ignored")
    func others() throws {
        try HTTPSession.Settings.checkEnvironment(
            ["HTTP_CLIENT_BIRDS_KIND": "x", "HTTP_CLIENT_TIMEOUTS_HEAD": "x", "HTTP_SERVER_PORT": "1"], scope: scope,
            others: ["birds.kind"])
        try HTTPSession.Settings.checkEnvironment(scope: "curlew.nobody.has.this")
    }

    @Test("without a scope the environment is not checked")
    func scopeless() {
        #expect(throws: CurlewError.self) { try HTTPSession.Settings.checkEnvironment([:], scope: ConfigKey([])) }
    }

    @Test("misspelled keys of a dictionary are an error")
    func keys() throws {
        let keys: [AbsoluteConfigKey] = ["http.client.timeouts.conect", "http.server.port", "http.client.base-url"]
        let error = #expect(throws: CurlewError.self) { try HTTPSession.Settings.checkKeys(keys, scope: scope) }
        #expect(
            error?.message == "unknown key: http.client.timeouts.conect (did you mean http.client.timeouts.connect?)")
        try HTTPSession.Settings.checkKeys(["base-url"], scope: ConfigKey([]))
    }

    @Test("only the first of many unknown variables are listed, and a long name is cheap")
    func many() {
        var variables = Dictionary(uniqueKeysWithValues: (100..<150).map { ("HTTP_CLIENT_\($0)", "") })
        variables["HTTP_CLIENT_" + String(repeating: "X", count: 1_000_000)] = ""
        let error = #expect(throws: CurlewError.self) {
            try HTTPSession.Settings.checkEnvironment(variables, scope: scope)
        }
        #expect(error?.message.hasSuffix(" and 31 more") == true)
    }

    @Test("words that differ in at most a third of their letters are similar")
    func spelling() {
        #expect(Spelling.distance(Array("kitten"), Array("sitting")) == 3)
        #expect(Spelling.distance([], Array("abc")) == 3)
        #expect(Spelling.nearest(to: "abc", among: []) == nil)
        #expect(
            Spelling.nearest(to: "timeout.connect", among: ["timeouts.head", "timeouts.connect"]) == "timeouts.connect")
        #expect(Spelling.nearest(to: "colour", among: ["timeouts.connect"]) == nil)
    }
}
#endif
