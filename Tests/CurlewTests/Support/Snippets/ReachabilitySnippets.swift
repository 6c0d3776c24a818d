import Curlew

/// The code of the article Reachability, so that it compiles. ``DocumentationTests`` compares the two.
enum ReachabilitySnippets {
    private func follow() async throws {
        for await status in try ReachabilityMonitor().updates {
            print(status.localizedDescription())
        }
    }

    private func ask() async throws {
        let network = try ReachabilityMonitor()
        let router = try ReachabilityMonitor(address: "192.168.1.1")
        let service = try ReachabilityMonitor(host: "api.example.com")
        print(await network.status, await router.status, await service.status)
    }

    private func explain(_ api: HTTPSession, _ monitor: ReachabilityMonitor) async throws {
        do {
            _ = try await api.get("status")
        } catch let error as CurlewError where error.stage == .connecting {
            guard await monitor.status == .notReachable else { throw error }
            print("There is no network.")
        }
    }

    private func wait() throws -> HTTPSession {
        var configuration = SessionConfiguration()
        configuration.connectivityTimeout = .seconds(60)
        return try HTTPSession(baseURL: "https://api.example.com/", configuration: configuration)
    }

    private func wake(_ monitor: ReachabilityMonitor) throws -> HTTPSession {
        var options = StandardChain.Options()
        options.retry = Retry(attempts: 5).waking(on: monitor.updates)
        return try HTTPSession(baseURL: "https://api.example.com/", chain: options)
    }

    private func drop(_ api: HTTPSession, _ monitor: ReachabilityMonitor) {
        api.session?.followNetworkChanges(monitor.updates)
    }

    private func translate(_ status: ReachabilityStatus) {
        var german = ReachabilityStatus.Descriptions()
        german.notReachable = "Nicht erreichbar"
        german.reachable[.wifi] = "Erreichbar über WLAN"
        print(status.localizedDescription(german))
    }
}
