import Curlew
import HTTPTypes

/// The code of the README, so that it compiles. ``DocumentationTests`` compares the two.
enum ReadmeSnippets {
    struct User: Codable, Sendable {
        var id: Int
        var name: String
    }

    /// A link of the chain: it sees every request on its way out and every response on its way back.
    struct BearerToken: CurlewMiddleware {
        let token: String

        func intercept(
            _ request: Request, next: Next<Request, Response>
        ) async throws -> Response {
            var request = request
            request.fields[.authorization] = "Bearer \(token)"
            return try await next(request)
        }
    }

    func renameUser(token: String) async throws {
        let api = try HTTPSession(baseURL: "https://api.example.com/v1/") {
            BearerToken(token: token)
        }

        var user = try await api.get("users/7", as: User.self)
        user.name = "Numenius"
        user = try await api.put("users/7", json: user, as: User.self)

        let history = try await api.get("users/7/history")
        for try await line in history.body.lines() { print(line) }
    }
}
