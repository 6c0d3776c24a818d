import Curlew

/// The code of OriginsAndAddresses.md, so that it compiles. ``DocumentationTests`` compares the two.
enum OriginSnippets {
    private func strictTransport() async throws -> HTTPSession {
        let known = StrictTransport.Store()
        try await known.load(from: "hsts.txt")
        known.add("example.com", includesSubdomains: true, age: .seconds(86_400))
        var options = StandardChain.Options()
        options.strictTransport = StrictTransport(known)
        let api = try HTTPSession(baseURL: "http://example.com/", chain: options)
        return api
    }

    private func alternativeServices() throws -> HTTPSession {
        let alternatives = AlternativeServices.Store()
        let api = try HTTPSession(baseURL: "https://api.example.com/") {
            StandardChain()
            AlternativeServices(alternatives)
        }
        return api
    }

    private func changes(_ alternatives: AlternativeServices.Store) async throws {
        for await _ in try ReachabilityMonitor().updates.dropFirst() { alternatives.networkChanged() }
    }

    private func balancing() throws -> HTTPSession {
        let api = try HTTPSession(baseURL: "http://birds.default.svc.cluster.local:8080/") {
            StandardChain()
            AddressBalancing(.leastPending)
        }
        return api
    }
}
