import HTTPTypes
import Testing

@testable import CurlewCache
@testable import CurlewCore

@Suite("The next request of a redirect")
struct RedirectRuleTests {
    private func rule(
        changesPostToGet: Bool = true, allowsDowngrade: Bool = false, secrets: Set<HTTPField.Name> = []
    ) -> RedirectRule {
        RedirectRule(
            changesPostToGet: changesPostToGet, allowsDowngrade: allowsDowngrade, secretFields: secrets)
    }

    private func redirect(_ status: Int, _ locations: String...) -> HTTPResponse {
        var response = HTTPResponse(status: .init(code: status))
        for location in locations { response.headerFields.append(HTTPField(name: .location, value: location)) }
        return response
    }

    private func request(
        _ method: HTTPRequest.Method = .get, _ url: String = "https://one.test/old/page", fields: HTTPFields = [:],
        body: CurlewRequest.Body = .none
    ) throws -> CurlewRequest {
        try CurlewRequest(method, url, fields: fields, body: body)
    }

    @Test("only 301, 302, 303, 307 and 308 are redirects to follow")
    func statuses() {
        #expect((100...599).filter(RedirectRule.isRedirect) == [301, 302, 303, 307, 308])
    }

    @Test(
        "the status determines method and body",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"),
            (301, "PUT", "PUT"), (307, "POST", "POST"), (308, "POST", "POST"),
        ])
    func method(_ status: Int, _ method: String, _ expected: String) throws {
        let body = method == "HEAD" ? CurlewRequest.Body.none : .string("x")
        var original = try request(HTTPRequest.Method(method)!, fields: [.contentType: "text/plain"], body: body)
        original.trailers = [.init("Digest")!: "y"]
        let next = try #require(try rule().request(after: redirect(status, "/new"), to: original))
        #expect(next.method.rawValue == expected)
        #expect(next.uri.description == "https://one.test/new")
        let keepsBody = expected == method
        #expect(next.body.isNone == (!keepsBody || method == "HEAD"))
        #expect(next.fields.contains(.contentType) == keepsBody)
        #expect(next.trailers.isEmpty != keepsBody)
    }

    @Test("a POST stays a POST after a 301 if configured, and needs a repeatable body")
    func keptPost() throws {
        let strict = rule(changesPostToGet: false)
        let next = try strict.request(after: redirect(301, "/new"), to: request(.post, body: .string("x")))
        #expect(next?.method == .post)
        let once = oneShot("x")
        for (status, rule) in [(301, strict), (307, rule())] {
            let error = #expect(throws: CurlewError.self) {
                try rule.request(after: redirect(status, "/new"), to: request(.post, body: once))
            }
            #expect(error?.code == .bodyNotReplayable)
        }
        #expect(try rule().request(after: redirect(303, "/new"), to: request(.post, body: once))?.method == .get)
    }

    @Test("a redirect without a Location is the response; one with an invalid or ambiguous Location is an error")
    func locations() throws {
        #expect(try rule().request(after: redirect(302), to: request()) == nil)
        #expect(try rule().request(after: redirect(302, "/a", "/a"), to: request())?.uri.path == "/a")
        for faulty in [
            redirect(302, "/a", "/b"), redirect(302, "ftp://one.test/"), redirect(302, "https://user:x@one.test/"),
            redirect(302, "/" + String(repeating: "a", count: 8192)),
        ] {
            let error = #expect(throws: CurlewError.self) { try rule().request(after: faulty, to: request()) }
            #expect(error?.code == .invalidRedirect)
        }
    }

    @Test("the fragment is inherited, unless the Location has one")
    func fragment() throws {
        let original = try request(.get, "https://one.test/a#there")
        #expect(try rule().request(after: redirect(302, "/b"), to: original)?.uri.fragment == "there")
        #expect(try rule().request(after: redirect(302, "/b#here"), to: original)?.uri.fragment == "here")
    }

    @Test(
        "secrets are sent only to their origin of scheme, host and port",
        arguments: [
            ("/new", true), ("https://ONE.test:443/new", true), ("https://one.test:8443/", false),
            ("https://two.test/", false), ("http://one.test/", false),
        ])
    func secrets(_ location: String, _ keeps: Bool) throws {
        let marked = try #require(HTTPField.Name("X-House-Key"))
        let fields: HTTPFields = [
            .authorization: "Bearer t", .cookie: "a=b", marked: "k", .init("Host")!: "one.test", .accept: "*/*",
        ]
        let next = try #require(
            try rule(secrets: [marked]).request(after: redirect(307, location), to: request(fields: fields)))
        for name in [.authorization, .cookie, marked, .init("Host")!] as [HTTPField.Name] {
            #expect(next.fields.contains(name) == keeps, "\(name)")
        }
        #expect(next.fields[.accept] == "*/*")
    }

    @Test("user information is kept only within its origin")
    func userInformation() throws {
        let original = try request(.get, "https://curlew:secret@one.test/")
        let near = try rule().request(after: redirect(302, "/new"), to: original)
        #expect(near?.uri.userInformation == "curlew:secret")
        let far = try rule().request(after: redirect(302, "https://two.test/"), to: original)
        #expect(far?.uri.userInformation == nil)
    }

    @Test("https does not become http, unless the link allows it")
    func downgrade() throws {
        let (secure, plain) = (try CurlewURI("https://one.test/"), try CurlewURI("http://one.test/"))
        let error = #expect(throws: CurlewError.self) { try rule().checkDowngrade(from: secure, to: plain) }
        #expect(error?.code == .redirectRefused)
        try rule(allowsDowngrade: true).checkDowngrade(from: secure, to: plain)
        try rule().checkDowngrade(from: plain, to: plain)
        try rule().checkDowngrade(from: plain, to: secure)
    }

    @Test("a decision that leaves the origin drops the secrets that it did not set itself")
    func changedByDecision() throws {
        let origin = try CurlewURI("https://one.test/")
        let proposed = try request(fields: [.authorization: "old", .cookie: "a=b"])
        var chosen = proposed
        chosen.uri = try CurlewURI("https://two.test/")
        chosen.fields[.authorization] = "new"
        let next = try rule().checked(chosen, insteadOf: proposed, from: origin)
        #expect(next.fields[.authorization] == "new")
        #expect(!next.fields.contains(.cookie))
        chosen.uri = try CurlewURI("http://one.test/")
        let error = #expect(throws: CurlewError.self) {
            try rule().checked(chosen, insteadOf: proposed, from: origin)
        }
        #expect(error?.code == .redirectRefused)
    }
}

@Suite("The redirects of a call")
struct RedirectTrailTests {
    private func response(_ uri: CurlewURI, _ fields: HTTPFields = [:]) -> CurlewResponse {
        CurlewResponse(.found, fields: fields, uri: uri)
    }

    @Test("a repeated URL counts like any other redirect")
    func circle() throws {
        let (a, b) = (try CurlewURI("https://one.test/a"), try CurlewURI("https://one.test/b"))
        var trail = RedirectTrail()
        for (from, to) in [(a, b), (b, a), (a, a)] {
            try trail.admit(to, upTo: 3)
            trail.add(response(from))
        }
        #expect(trail.hops.map(\.uri) == [a, b, a])
        let error = #expect(throws: CurlewError.self) { try trail.admit(b, upTo: 3) }
        #expect(error?.code == .tooManyRedirects && error?.message.contains("again") == true)
    }

    @Test("a redirect beyond the policy's limit is an error")
    func limit() throws {
        let (a, b) = (try CurlewURI("https://one.test/a"), try CurlewURI("https://one.test/b"))
        var trail = RedirectTrail()
        try trail.admit(b, upTo: 1)
        trail.add(response(a))
        let error = #expect(throws: CurlewError.self) { try trail.admit(b, upTo: 1) }
        #expect(error?.code == .tooManyRedirects && error?.message.contains("again") == false)
    }
}
