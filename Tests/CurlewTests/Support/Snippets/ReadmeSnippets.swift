import Curlew

/// The code of the README, so that it compiles. ``DocumentationTests`` compares the two.
enum ReadmeSnippets {
    struct User: Codable, Sendable {
        var id: Int
        var name: String
    }

    /// A link of the chain: it sees every request on its way out and every response on its way back.
    struct BearerToken: CurlewMiddleware {
        let token: String

        func intercept(_ request: Request, next: Next<Request, Response>) async throws -> Response {
            var request = request
            request.fields[.authorization] = "Bearer \(token)"
            return try await next(request)
        }
    }

    struct Order: Codable, Sendable { var id: Int }
    struct Delta: Codable, Sendable { var text: String }

    func day(_ token: String, id: String, text: String, tag: String?, newOrder: Order, prompt: [String: String])
        async throws
    {
        let api = try HTTPSession(baseURL: "https://api.example.com/v1/", json: JSONCoding(keys: .snakeCase)) {
            BearerToken(token: token)
        }

        let user = try await api.get("users/\(id)", as: User.self)  // id is one escaped segment
        let found = try await api.get("users", parameters: ["q": text, "page": 2, "tag": tag], as: [User].self)
        let order = try await api.post("orders", .json(newOrder), as: Order.self, timeout: .seconds(5))
        try await api.delete("orders/\(order.id)", as: .nothing)

        for try await delta in api.events("messages", .json(prompt), as: Delta.self, until: "[DONE]") {
            print(delta.text, terminator: "")
        }
        for try await user in api.pages("users", as: [User].self) { print(user.name) }

        let file = try await api.download("big.iso", to: .folder("/srv/inbox"), attempts: 6) { progress in
            print(progress.received.fraction ?? 0)
        }
        print(user.name, found.count, file.path)
    }
}
