#if Service
import Configuration
import Curlew
import CurlewService

/// The code of the article Configuration; a test compares the two.
enum ConfigurationSnippets {
    private func client() async throws -> HTTPSession {
        let environment = ConfigReader(provider: EnvironmentVariablesProvider())
        let config = ConfigReader(providers: [
            EnvironmentVariablesProvider(),
            // The variable BIRDS_CONFIG_FILE_PATH says where it is.
            try await FileProvider<JSONSnapshot>(config: environment.scoped(to: "birds.config")),
        ])
        try HTTPSession.Settings.checkEnvironment(scope: "birds.http")
        let api = try await HTTPSession(reader: config.scoped(to: "birds.http"))
        return api
    }
}
#endif
