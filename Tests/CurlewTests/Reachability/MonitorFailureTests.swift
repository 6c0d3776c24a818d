import CurlewTestingTraits
import Glibc
import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Monitors with an unknown status", .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct MonitorFailureTests {
    private func monitor(
        failing number: Int32, times: Int = .max, _ target: ReachabilityTarget = .everything
    ) throws -> ReachabilityMonitor {
        let left = Guarded(times)
        var source = NetworkSource()
        source.times.failureWait = 1_000_000
        source.opening.socket = { size in
            let isFailing = left.withLock { left in
                left -= 1
                return left >= 0
            }
            return isFailing ? -number : NetlinkOpening.system(size)
        }
        return try ReachabilityMonitor(target, source: source)
    }

    @Test("the status is unknown without permission, with the reason", arguments: [EPERM, EACCES, EAFNOSUPPORT])
    func forbidden(number: Int32) async throws {
        let monitor = try monitor(failing: number)
        #expect(await monitor.status == .unknown)
        let failure = await monitor.failure
        #expect(failure?.code == .reachabilityUnavailable)
        #expect(failure?.message.contains(String(cString: strerror(number))) == true)
        let local = try self.monitor(failing: number, ReachabilityTarget(address: "127.0.0.1"))
        #expect(await local.status == .unknown)
    }

    @Test("a monitor without a free descriptor retries until it gets one")
    func exhausted() async throws {
        let monitor = try monitor(failing: EMFILE, times: 7)
        var updates = monitor.updates.makeAsyncIterator()
        #expect(await updates.next() == .unknown)
        #expect(await monitor.failure?.code == .resourcesExhausted)
        #expect(await updates.next() != .unknown)
        #expect(await monitor.failure == nil)
    }

    @Test("a kernel without an answer, or with an invalid one, makes the status unknown")
    func silent() async throws {
        let monitor = try { () throws -> ReachabilityMonitor in
            var source = NetworkSource()
            source.times.failureWait = 1_000_000
            // A socket of another kind accepts the requests and never answers.
            source.opening.socket = { _ in
                var pair: [Int32] = [0, 0]
                let kind = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
                guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { return -errno }
                close(pair[1])
                return pair[0]
            }
            return try ReachabilityMonitor(.everything, source: source)
        }()
        #expect(await monitor.status == .unknown)
        #expect(await monitor.failure?.code == .reachabilityUnavailable)
    }

    @Test("the loopback interface is found through the system's own sources")
    func system() async throws {
        let monitor = try ReachabilityMonitor(address: "127.0.0.1")
        let path = try #require(await monitor.status.path)
        #expect(path.interface == "lo" && path.kind == .loopback && path.families == .ipv4)
        let named = try ReachabilityMonitor(host: "localhost")
        #expect(await named.status.path?.kind == .loopback)
        #expect(try await ReachabilityMonitor(host: "[127.0.0.1]").status == .reachable(path))
    }

    @Test(
        "a host that is neither an address nor a name is refused",
        arguments: ["", "a b", "http://a.test/", "a\u{0}b", "a/b", "user@a.test", String(repeating: "a", count: 254)])
    func badHosts(_ text: String) async {
        #expect(await curlewError { _ = try ReachabilityMonitor(host: text) }?.code == .invalidRequest)
        #expect(await curlewError { _ = try ReachabilityMonitor(address: text) }?.code == .invalidRequest)
    }

    @Test("addresses are parsed strictly", arguments: ["127.1", "1.2.3.4%eth0", "2001:db8::1%eth0", "fe80::1%", "::g"])
    func badAddresses(_ text: String) async {
        #expect(await curlewError { _ = try ReachabilityMonitor(address: text) }?.code == .invalidRequest)
    }
}
