import Curlew

/// A polite crawler: it obeys robots.txt, uses public addresses alone, and sends each host at most two requests at a
/// time and twenty a second.
///
/// - Returns: The status of each page, or the code of its error.
public func crawl(
    _ start: String, pages limit: Int, addresses: AddressPolicy = .publicOnly
) async throws -> [String: String] {
    let configuration = SessionConfiguration(
        timeouts: Timeouts(connect: .seconds(5), total: .seconds(20)),
        limits: CurlewResponse.Limits(collectedBody: .mebibytes(2)), addressPolicy: addresses,
        userAgent: "curlew-crawler/1.0")
    let web = try HTTPSession(configuration: configuration) {
        StandardChain()
        RequestRateLimiter(.perSecond(20))
        ConcurrencyLimiter(.fixed(2))
    }
    let first = try CurlewURI(start)
    let robots = try await web.get(.uri(first.resolving("/robots.txt"))).text(anyStatus: true)
    let forbidden = robots.split(separator: "\n").filter { $0.hasPrefix("Disallow: /") }.map { $0.dropFirst(10) }
    var results: [String: String] = [:]
    var frontier: Set = [first]
    while !frontier.isEmpty, results.count < limit {
        let batch = frontier.prefix(limit - results.count)
        let pages = await withTaskGroup(of: (CurlewURI, String, [CurlewURI]).self) { group in
            for uri in batch { group.addTask { await visit(uri, web) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for (uri, result, _) in pages { results[uri.description] = result }
        frontier = Set(pages.flatMap(\.2)).filter { uri in
            results[uri.description] == nil && !forbidden.contains { uri.path.hasPrefix($0) }
        }
    }
    return results
}

private func visit(_ uri: CurlewURI, _ web: HTTPSession) async -> (CurlewURI, String, [CurlewURI]) {
    do {
        let (page, response) = try await web.get(.uri(uri), as: .valueAndResponse(.text))
        let links = page.matches(of: /href="([^"#]+)/).compactMap { try? response.uri.resolving(String($0.1)) }
        return (uri, "\(response.status.code)", links)
    } catch let error as CurlewError {
        return (uri, error.status.map { "\($0.code)" } ?? "\(error.code)", [])
    } catch { return (uri, "\(error)", []) }
}
