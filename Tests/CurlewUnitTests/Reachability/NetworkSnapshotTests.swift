import Testing

@testable import CurlewCore

@Suite("Rules of reachability")
struct NetworkSnapshotTests {
    private let global = IPAddress("192.0.2.10")
    private let linkLocal = IPAddress("169.254.7.7")

    private func way(
        _ fate: NetworkRoute.Fate = .sent, flags: UInt32 = 0x41, source: IPAddress?, isIPv6: Bool = false,
        name: String = "eth0", gateway: String? = nil, kind: ReachabilityStatus.Path.InterfaceKind = .wired,
        over: ReachabilityStatus.Path.InterfaceKind? = nil
    ) -> NetworkSnapshot.Way {
        let router = gateway.flatMap { IPAddress($0) }
        let route = NetworkRoute(fate, isIPv6: isIPv6, link: 2, source: source, gateway: router)
        return .init(
            route: route, link: NetworkLink(index: 2, name: name, flags: flags), kind: kind, over: over)
    }

    private func status(_ ways: NetworkSnapshot.Way..., isForEverything: Bool = true) -> ReachabilityStatus {
        NetworkSnapshot(isForEverything: isForEverything, ways: ways).status
    }

    @Test("a route over a running interface, with a source address that is not link-local, is reachable")
    func reachable() {
        let status = status(way(source: global, gateway: "192.0.2.1"))
        let path = ReachabilityStatus.Path(
            interface: "eth0", kind: .wired, families: .ipv4, localAddresses: ["192.0.2.10"], gateways: ["192.0.2.1"])
        #expect(status == .reachable(path) && status.isReachable && status.path == path)
    }

    @Test("a network without a route, a running interface or an address, or with a refusing route, is not reachable")
    func notReachable() {
        #expect(status() == .notReachable)
        #expect(status(way(.refused, source: global)) == .notReachable)
        #expect(status(way(flags: 0x1, source: global)) == .notReachable)
        #expect(status(way(flags: 0x40, source: global)) == .notReachable)
        #expect(status(way(source: nil)) == .notReachable)
        #expect(status(way(source: linkLocal)) == .notReachable)
        #expect(status(way(source: IPAddress("fe80::1"), isIPv6: true)) == .notReachable)
        #expect(status(way(source: IPAddress("::1"), isIPv6: true), isForEverything: false) == .notReachable)
    }

    @Test("the loopback interface makes an address reachable, but not the network in general")
    func loopback() {
        let own = way(.kept, flags: 0x49, source: IPAddress("127.0.0.1"), name: "lo", kind: .loopback)
        let routed = way(.sent, flags: 0x49, source: IPAddress("127.0.0.1"), name: "lo", kind: .loopback)
        #expect(status(own) == .notReachable && status(routed) == .notReachable)
        #expect(status(own, isForEverything: false).path?.kind == .loopback)
    }

    @Test("a link-local source suffices for a link-local destination")
    func toLinkLocal() {
        var neighbour = way(source: linkLocal)
        #expect(status(neighbour, isForEverything: false) == .notReachable)
        neighbour.isToLinkLocal = true
        #expect(status(neighbour, isForEverything: false).isReachable)
    }

    @Test("the path has both families, and the interface of the first usable one")
    func families() {
        let six = way(source: IPAddress("2001:db8::10"), isIPv6: true, name: "tun0", kind: .other, over: .cellular)
        let four = way(source: global)
        let both = status(six, four)
        #expect(both.path?.families == [.ipv4, .ipv6] && both.path?.interface == "tun0")
        #expect(both.path?.localAddresses == ["2001:db8::10", "192.0.2.10"])
        #expect(both.path?.isExpensive == true)
        var dead = six
        dead.link.flags = 0
        #expect(status(dead, four).path?.interface == "eth0" && status(dead, four).path?.isExpensive == false)
    }

    @Test("a status has a description whose words can be replaced")
    func words() {
        let reachable = status(way(source: global))
        #expect(ReachabilityStatus.unknown.localizedDescription() == "Unknown")
        #expect(ReachabilityStatus.notReachable.localizedDescription() == "Not Reachable")
        #expect(status(way(source: global, kind: .wifi)).localizedDescription() == "Reachable via WiFi")
        #expect(status(way(source: global, kind: .cellular)).localizedDescription() == "Reachable via WWAN")
        #expect(status(way(source: global, kind: .other)).localizedDescription() == "Reachable")
        var german = ReachabilityStatus.Descriptions()
        german.reachable[.wired] = "Über Kabel erreichbar"
        #expect(reachable.localizedDescription(german) == "Über Kabel erreichbar")
        #expect(reachable.description == "reachable via wired eth0 (IPv4)")
    }
}
