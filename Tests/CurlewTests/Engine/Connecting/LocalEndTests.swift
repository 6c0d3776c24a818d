import Glibc
import Testing

@testable import CurlewCore

extension Connecting {
    @Suite("Local ends of dials")
    struct LocalEndTests {
        private let bench: DialBench

        init() throws { bench = try DialBench() }

        /// A resolver with one local host.
        private let resolver = NameResolver { query in
            guard query.name == Array("here.test".utf8) else { return .failure(NameFailure(.notFound, "unknown")) }
            return .success([HostAddress(IPAddress(ipv6: 1)), HostAddress(IPAddress(ipv4: 0x7F00_0003))])
        }

        private func outcome(from text: String, to listener: Listener) async -> Dial.Outcome {
            var plan = Dial.Plan(listener.address)
            plan.localInterface = text
            return await bench.outcome(of: plan, resolver: resolver)
        }

        @Test(
            "an interface, an address and a host can be chosen",
            arguments: [
                ("lo", "127.0.0.1"), ("if!lo", "127.0.0.1"), ("if!LO", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"),
                ("host!127.0.0.2", "127.0.0.2"), ("here.test", "127.0.0.3"), ("host!here.test", "127.0.0.3"),
                ("localhost", "127.0.0.1"), ("", "127.0.0.1"),
            ])
        func chosen(_ text: String, _ local: String) async throws {
            let listener = try Listener()
            let outcome = await outcome(from: text, to: listener)
            let ends = SocketAddress.ends(of: try outcome.socket().descriptor)
            #expect(ends?.local.ip?.description == local)
            outcome.close()
        }

        @Test(
            "an interface determines a local address of the right family and scope",
            .enabled(if: (try? Listener("::1")) != nil))
        func ipv6() async throws {
            let listener = try Listener("::1")
            let outcome = await outcome(from: "if!LO", to: listener)
            #expect(SocketAddress.ends(of: try outcome.socket().descriptor)?.local.ip == IPAddress(ipv6: 1))
            outcome.close()
        }

        @Test(
            "an interface that does not exist, or has no suitable address, is a clear error",
            arguments: [
                ("nowhere0", "nowhere0 is no interface, address or host of this machine: unknown"),
                ("if!nowhere0", "the interface nowhere0 does not exist or has no fitting IPv4 address"),
                ("if!", "the interface  does not exist or has no fitting IPv4 address"),
                ("host!lo", "lo is no interface, address or host of this machine: unknown"),
                ("192.0.2.11", "the local address 192.0.2.11 cannot be used: Cannot assign requested address"),
                ("::1", "the local address ::1 has no IPv4 address"),
            ])
        func missing(_ text: String, _ words: String) async throws {
            let listener = try Listener()
            let before = openSockets()
            let failure = await outcome(from: text, to: listener).failure
            guard case .interface(let found)? = failure else { return #expect(Bool(false), "\(failure as Any)") }
            #expect(found == words)
            #expect(openSockets() == before)
        }

        @Test("addresses of a family without a local end are skipped")
        func otherFamily() async throws {
            let listener = try Listener()
            var plan = Dial.Plan(
                .addresses(
                    [HostAddress(IPAddress(ipv6: 1)), HostAddress(IPAddress(ipv4: 0x7F00_0001))], port: listener.port))
            plan.localInterface = "127.0.0.2"
            let outcome = await bench.outcome(of: plan)
            #expect(try outcome.socket().peer == listener.address)
            outcome.close()
        }
    }
}
