import Aggregator
import Curlew
import CurlewService
import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

/// `aggregator PORT SPECIES SIGHTINGS WEATHER`: the port to listen on, and the base URLs of the three upstreams. The
/// program prints its own URL once it accepts connections. An interrupt or SIGTERM ends it gracefully.
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
        let session = try HTTPSession(chain: StandardChain.Options(logger: logger))
        let aggregator = AggregatorService(
            session: session, upstreams: Upstreams(species: urls[0], sightings: urls[1], weather: urls[2]),
            port: Int(port), logger: logger
        ) { port in
            print("http://127.0.0.1:\(port)/")
            fflush(nil)
        }
        // The services shut down in reverse order: first the server answers its running requests, then its session
        // ends.
        let group = ServiceGroup(
            services: [SessionService(session, deadline: .seconds(5), logger: logger), aggregator],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
}
