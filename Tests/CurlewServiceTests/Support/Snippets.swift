#if Service
import Configuration
import Curlew
import CurlewService
import Logging
import ServiceLifecycle
import UnixSignals

/// The code of the articles Configuration and InProduction; tests compare them.
enum ConfigurationSnippets {
    private func client() async throws -> HTTPSession {
        let environment = ConfigReader(provider: EnvironmentVariablesProvider())
        let config = ConfigReader(providers: [
            EnvironmentVariablesProvider(),
            // The variable BIRDS_CONFIG_FILE_PATH has the path of the file.
            try await FileProvider<JSONSnapshot>(config: environment.scoped(to: "birds.config")),
        ])
        try HTTPSession.Settings.checkEnvironment(scope: "birds.http")
        let api = try await HTTPSession(reader: config.scoped(to: "birds.http"))
        return api
    }

    func run(_ config: ConfigReader, server: any Service, logger: Logger) async throws {
        let api = try await HTTPSession(reader: config.scoped(to: "birds.http")) {
            RequestMetrics()
            RequestTracing()
        }
        let client = SessionService(api, warmUp: ["health"], logger: logger)
        let group = ServiceGroup(
            services: [client, server], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
    }
}
#endif
