import CStalledResolver
import CurlewTestingTraits
import Testing

@testable import CurlewCore
@testable import CurlewLoad

@Suite(
    "Reachability of a host across network changes",
    .needsNamespaces, .noLeaks, .noLongTurns, .timeLimit(.minutes(1))
)
struct HostMonitorTests {
    /// Look-ups that a test answers.
    private final class Resolver: Sendable {
        private let answers: AsyncStream<@Sendable (HostLookup.Answer) -> Void>
        private let begun: AsyncStream<@Sendable (HostLookup.Answer) -> Void>.Continuation

        init() { (answers, begun) = AsyncStream.makeStream() }

        var lookup: HostLookup { HostLookup { [begun] _, answer in begun.yield(answer) } }

        /// Answers the next look-up.
        func answer(_ answer: HostLookup.Answer) async { await next()?(answer) }

        func next() async -> (@Sendable (HostLookup.Answer) -> Void)? { await answers.first { _ in true } }
    }

    private let found: HostLookup.Answer = .success([
        .init(IPAddress(ipv4: 0xCB00_7105)), .init(IPAddress(ipv4: 0xC000_024D)),
    ])
    private let missing: HostLookup.Answer = .failure(CurlewError(.hostNotFound, "no such host"))

    private func monitor(
        _ network: NetworkNamespace, _ resolver: Resolver, _ adjust: (inout MonitorTimes) -> Void = { _ in }
    ) throws -> ReachabilityMonitor {
        try network.monitor(.host("a.test")) {
            $0.lookup = resolver.lookup
            $0.times.lookupDelay = 1_000_000
            $0.times.lookupSpacing = 2_000_000
            $0.times.failureWait = 1_000_000
            adjust(&$0.times)
        }
    }

    @Test("a host is reachable as soon as one of its addresses is reachable")
    func anyAddress() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        try network.ip("route del default")
        let resolver = Resolver()
        var updates = try monitor(network, resolver).updates.makeAsyncIterator()
        async let first = updates.next()
        await resolver.answer(found)
        #expect(await first?.path?.gateways == [])
    }

    @Test("known addresses are checked at once after a network change, and looked up again")
    func again() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let resolver = Resolver()
        let monitor = try monitor(network, resolver)
        var updates = monitor.updates.makeAsyncIterator()
        await resolver.answer(found)
        #expect(await updates.next()?.isReachable == true)
        try network.ip("link set far0 down")
        // The look-up that the change has started has no answer yet.
        await wait(&updates) { $0 == .notReachable }
        try network.ip("link set far0 up", "route del default", "route del ::/0")
        let answer = await resolver.next()
        answer?(.success([.init(IPAddress(ipv4: 0xCB00_7105))]))
        await resolver.answer(.success([.init(IPAddress(ipv4: 0x0A00_0001))]))
        try network.ip("route add 10.0.0.0/8 via 192.0.2.9")
        await wait(&updates) { $0.path?.gateways == ["192.0.2.9"] }
    }

    @Test("an unknown host is unreachable without a network and unknown with one, with the reason")
    func notFound() async throws {
        let network = try NetworkNamespace()
        let resolver = Resolver()
        let monitor = try monitor(network, resolver) { $0.failureLimit = 0 }
        var updates = monitor.updates.makeAsyncIterator()
        await resolver.answer(missing)
        #expect(await updates.next() == .notReachable)
        #expect(await monitor.failure?.code == .hostNotFound)
        try network.plugIn()
        let (status, _) = await (wait(&updates) { $0 == .unknown }, resolver.answer(missing))
        #expect(status == .unknown)
    }

    @Test("a failed look-up is repeated up to its limit, and then only after the next network change")
    func retries() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let resolver = Resolver()
        let monitor = try monitor(network, resolver) { $0.failureLimit = 3 }
        var updates = monitor.updates.makeAsyncIterator()
        for _ in 0..<3 { await resolver.answer(missing) }
        #expect(await updates.next() == .unknown)
        await resolver.answer(found)
        #expect(await updates.next()?.isReachable == true)
        #expect(await monitor.failure == nil)
    }

    @Test("a slow look-up makes the status unknown, and its late answer is used")
    func stalled() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let resolver = Resolver()
        let monitor = try monitor(network, resolver) { $0.lookupLimit = 1_000_000 }
        var updates = monitor.updates.makeAsyncIterator()
        let late = await resolver.next()
        #expect(await updates.next() == .unknown)
        #expect(await monitor.failure?.code == .hostNotFound)
        late?(found)
        #expect(await updates.next()?.isReachable == true)
    }

    @Test("the late answer of a look-up is dropped without listeners")
    func lateForAll() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let resolver = Resolver()
        let monitor = try monitor(network, resolver)
        let gone = Task { await monitor.status }
        let late = await resolver.next()
        gone.cancel()
        #expect(await gone.value == .unknown)
        // A listener that starts before the monitor has stopped would continue the running look-up.
        try await waitUntil { await !monitor.isWatching }
        var updates = monitor.updates.makeAsyncIterator()
        let answer = await resolver.next()
        late?(.success([.init(IPAddress(ipv4: 0x7F00_0001))]))
        answer?(found)
        #expect(await updates.next()?.path?.interface == "eth0")
    }

    @Test("endless look-ups of the system are limited in number, and delay no other")
    func threads() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let monitors = try (0..<20).map { number in
            try network.monitor(.host("h\(number).stalled.test")) { $0.times.lookupLimit = 5_000_000 }
        }
        var listeners = monitors.map { $0.updates.makeAsyncIterator() }
        for index in listeners.indices { #expect(await listeners[index].next() == .unknown) }
        #expect(curlew_stalled_lookups() <= HostLookup.threadLimit)
        #expect(await monitors[19].failure != nil)
        listeners = []
        try await waitUntil {
            curlew_release_lookups()
            return curlew_stalled_lookups() == 0
        }
    }
}
