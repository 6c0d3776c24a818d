import Curlew
import Logging

/// The code of HTTPBehaviour.md, so that it compiles. ``DocumentationTests`` compares the two.
enum HTTPBehaviourSnippets {
    typealias BearerToken = ReadmeSnippets.BearerToken

    private func standard() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/")
        return api
    }

    private func adjusted() throws -> HTTPSession {
        var options = StandardChain.Options(logger: Logger(label: "api"))
        options.redirects.policy = .follow(maximum: 5)
        options.retry?.policy.attempts = 5
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            BearerToken(token: "secret")
            StandardChain(options)
        }
        return api
    }

    private func asOneUser() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://shop.example.com/", chain: .singleUser)
        return api
    }

    private func queried(_ api: HTTPSession) async throws {
        let response = try await api.query("contacts", .form(["select": "surname", "limit": 10]))
        let found = try await response.body.collect(upTo: .mebibytes(1))
        print(found.count, response.fields[.location] ?? "no resource for this query")
    }

    private func oneCall(_ api: HTTPSession, order: String) async throws -> CurlewResponse {
        var options = RequestOptions()
        options.totalTimeout = .seconds(5)
        options.redirects = .manual
        options.maximumAttempts = 1
        options.isIdempotent = true
        return try await api.post("orders", .text(order), options: options)
    }

    private func decided() -> Redirects {
        let redirects = Redirects(
            .decide { proposal in
                guard proposal.request.uri.host.hasSuffix(".example.com") else { return nil }
                return proposal.request
            })
        return redirects
    }

    private func hedged() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            Hedging(after: .milliseconds(300))
        }
        return api
    }
}
