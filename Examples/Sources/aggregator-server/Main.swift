import Aggregator
import Logging
import ServiceLifecycle
import UnixSignals

/// `aggregator PORT SPECIES SIGHTINGS WEATHER`: the port to listen on, and the base URLs of the three upstreams.
/// An interrupt or SIGTERM ends it gracefully.
@main
struct Main {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        guard words.count == 4, let port = words.first.flatMap({ UInt16($0) }) else {
            print("usage: aggregator PORT SPECIES-URL SIGHTINGS-URL WEATHER-URL")
            return
        }
        let urls = Array(words.dropFirst())
        let logger = Logger(label: "aggregator")
        let service = AggregatorService(
            upstreams: Upstreams(species: urls[0], sightings: urls[1], weather: urls[2]),
            port: Int(port), logger: logger)
        let group = ServiceGroup(
            services: [service], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
}
