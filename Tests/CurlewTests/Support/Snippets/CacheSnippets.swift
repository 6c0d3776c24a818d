import Curlew

/// The code of the article Caching that needs no disk; ``DocumentationTests`` compares the two.
enum CacheSnippets {
    typealias User = ReadmeSnippets.User

    private func plain() async throws {
        let api = try HTTPSession(baseURL: "https://api.example.com/", chain: .caching())
        let response = try await api.get("birds")
        print(response.cacheStatus == .hit, response.fields[.age] ?? "new")
    }

    private func partitions(_ api: HTTPSession, _ userID: Int) async throws -> User {
        var options = RequestOptions()
        options.cachePartition = "user \(userID)"
        let profile = try await api.get("profile", as: User.self, options: options)
        return profile
    }

    private func joined() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/") { Coalescing() }
        return api
    }
}
