import Curlew
import CurlewService
import Gateway
import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

/// `gateway PORT UPSTREAM`: the port to listen on, and the base URL of the upstream. The program prints its own URL
/// once it accepts connections. An interrupt or SIGTERM ends it gracefully.
@main
struct Main {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count == 2, let port = UInt16(words[0]) else {
            print("usage: gateway PORT UPSTREAM-URL")
            return
        }
        let logger = Logger(label: "gateway")
        let upstream = try HTTPSession(baseURL: words[1], chain: .bare)
        let gateway = GatewayService(
            upstream: upstream, rules: try HTTPSession.Forwarding(named: "gateway"), port: Int(port), logger: logger
        ) { port in
            print("http://127.0.0.1:\(port)/")
            fflush(nil)
        }
        // The services shut down in reverse order: first the server answers its running requests, then its session
        // ends.
        let group = ServiceGroup(
            services: [SessionService(upstream, deadline: .seconds(5), logger: logger), gateway],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }
}
