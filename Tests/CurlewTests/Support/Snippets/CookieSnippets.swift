import Curlew

/// The code of CookieHandling.md and ContentCoding.md, so that it compiles. ``DocumentationTests`` compares the two.
enum CookieSnippets {
    private func link() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://example.com/") { CookieHandling() }
        return api
    }

    private func shared() throws -> [HTTPSession] {
        let jar = CookieJar()
        let shop = try HTTPSession(baseURL: "https://shop.example.com/") { CookieHandling(jar) }
        let account = try HTTPSession(baseURL: "https://account.example.com/") { CookieHandling(jar) }
        return [shop, account]
    }

    private func off(_ api: HTTPSession) async throws {
        var options = RequestOptions()
        options.usesCookies = false
        let response = try await api.get("status", options: options)
        print(response.status)
    }

    private func use(_ jar: CookieJar) throws {
        jar.set(try CookieJar.Cookie(name: "theme", value: "dark", domain: "example.com", isSecure: true))
        for cookie in jar.cookies(for: try CurlewURI("https://example.com/settings")) { print(cookie.name) }
        jar.remove(name: "theme")
        jar.removeSessionCookies()
    }

    private func changes(_ jar: CookieJar) async {
        for await change in jar.changes {
            print(change.kind.rawValue, change.cookie)
        }
    }

    private func file(_ jar: CookieJar) async throws {
        let report = try await jar.load(from: "cookies.txt")
        if !report.skippedLines.isEmpty { print("no cookies in lines \(report.skippedLines)") }
        try await jar.save(to: "cookies.txt")
    }

    private func decoding() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "https://api.example.com/") { ContentDecoding() }
        return api
    }

    private func bounded() throws -> HTTPSession {
        let limits = ContentDecoding.Limits(ratio: 20, size: .mebibytes(10))
        let api = try HTTPSession(baseURL: "https://api.example.com/") { ContentDecoding(limits: limits) }
        return api
    }

    private func raw(_ api: HTTPSession) async throws {
        var options = RequestOptions()
        options.decodesContent = false
        let response = try await api.get("archive", fields: [.acceptEncoding: "gzip"], options: options)
        for try await chunk in response.body { print(chunk.count) }
    }
}
