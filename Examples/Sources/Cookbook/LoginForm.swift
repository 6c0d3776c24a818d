import Curlew

/// A login by form: the redirect is followed, and the cookies are kept in a file for the next run.
public func account(of user: String, password: String, at base: String, cookies file: String) async throws -> String {
    let jar = CookieJar()
    var chain = StandardChain.Options.singleUser
    chain.cookies = CookieHandling(jar)
    let site = try HTTPSession(baseURL: base, chain: chain)
    let page = try await site.post("login", .form(["user": user, "password": password]), as: .text)
    try await jar.save(to: file)
    return page
}
