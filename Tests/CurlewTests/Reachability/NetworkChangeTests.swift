import CurlewTestingTraits
import Glibc
import Testing

@testable import CurlewCore

@Suite("A monitor across network changes", .needsNamespaces, .noLeaks, .noLongTurns, .timeLimit(.minutes(1)))
struct NetworkChangeTests {
    @Test("the status follows an interface that is plugged in, unplugged and plugged in again")
    func plug() async throws {
        let network = try NetworkNamespace()
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next() == .notReachable)
        try network.plugIn()
        let path = await wait(&updates) { $0.path?.families == .both }.path
        #expect(path?.interface == "eth0" && path?.kind == .wired && path?.isExpensive == false)
        #expect(path?.localAddresses == ["2001:db8::10", "192.0.2.10"])
        #expect(path?.gateways == ["2001:db8::1", "192.0.2.1"])
        try network.ip("link set far0 down")
        // The kernel takes the families away one after the other.
        await wait(&updates) { $0 == .notReachable }
        try network.ip("link set far0 up")
        await wait(&updates) { $0.path == path }
    }

    @Test("the status follows an interface that is switched off, and on again with and without its routes")
    func switchedOff() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.isReachable == true)
        try network.ip("link set eth0 down")
        await wait(&updates) { $0 == .notReachable }
        try network.ip("link set eth0 up", "route add default via 192.0.2.1 dev eth0")
        #expect(await wait(&updates) { $0.isReachable }.path?.families == .ipv4)
    }

    @Test("the next route is used when the first interface disappears, without a message about routes")
    func fallback() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        try network.ip(
            "link add eth1 type veth peer name far1", "link set far1 up", "link set eth1 up",
            "addr add 198.51.100.10/24 dev eth1", "route add default via 198.51.100.1 dev eth1 metric 500")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.path?.interface == "eth0")
        try network.ip("link set eth0 down")
        let path = await wait(&updates) { $0.path?.interface == "eth1" }.path
        #expect(path?.localAddresses == ["198.51.100.10"])
    }

    @Test("a link-local address does not make the network reachable")
    func linkLocalOnly() async throws {
        let network = try NetworkNamespace()
        try network.ip(
            "link add eth0 type veth peer name far0", "link set far0 up", "link set eth0 up",
            "addr add 169.254.7.7/16 dev eth0 scope link", "route add default dev eth0 metric 1002",
            "addr add fe80::7/64 dev eth0 nodad", "route add default via fe80::1 dev eth0")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next() == .notReachable)
        try network.ip("addr add 192.0.2.10/24 dev eth0", "route replace default via 192.0.2.1 dev eth0 metric 1")
        await wait(&updates) { $0.path?.localAddresses == ["192.0.2.10"] }
    }

    @Test("the status follows routes that are added and removed")
    func routes() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.path?.families == .both)
        try network.ip("route del default")
        #expect(await updates.next()?.path?.families == .ipv6)
        try network.ip("route del ::/0")
        #expect(await updates.next() == .notReachable)
        try network.ip("route add 0.0.0.0/1 via 192.0.2.1", "route add 128.0.0.0/1 via 192.0.2.1")
        #expect(await wait(&updates) { $0.isReachable }.path?.families == .ipv4)
    }

    @Test(
        "a route that refuses packets makes its family unreachable",
        arguments: ["unreachable", "blackhole", "prohibit", "throw"])
    func refusing(kind: String) async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.path?.families == .both)
        // The routes are preferred by their metrics; a route of kind throw ends the look-up in its table.
        try network.ip("route add \(kind) default metric 1")
        #expect(await updates.next()?.path?.families == .ipv6)
        try network.ip("route add \(kind) ::/0 metric 1")
        #expect(await updates.next() == .notReachable)
        try network.ip("route del \(kind) ::/0 metric 1")
        #expect(await updates.next()?.path?.families == .ipv6)
    }

    @Test("a lower metric changes the interface of the path")
    func metric() async throws {
        let network = try NetworkNamespace()
        try network.plugIn(metric: 100)
        try network.ip(
            "link add eth1 type veth peer name far1", "link set far1 up", "link set eth1 up",
            "addr add 198.51.100.10/24 dev eth1", "route add default via 198.51.100.1 dev eth1 metric 200",
            "route del ::/0")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.path?.interface == "eth0")
        try network.ip("route add default via 198.51.100.1 dev eth1 metric 50")
        #expect(await updates.next()?.path?.interface == "eth1")
        try network.ip("route del default via 198.51.100.1 dev eth1 metric 50")
        #expect(await updates.next()?.path?.interface == "eth0")
    }

    @Test("an IPv6 network is reachable once its address is no longer tentative")
    func onlyIPv6() async throws {
        let network = try NetworkNamespace()
        // The loopback address must not be used as a source.
        try network.ip(
            "link set lo up", "link add eth0 type veth peer name far0", "link set far0 up",
            "link set eth0 addrgenmode none", "link set eth0 up", "route add ::/0 dev eth0")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next() == .notReachable)
        // Duplicate address detection takes a second.
        try network.ip("addr add 2001:db8::10/64 dev eth0")
        let path = await wait(&updates) { $0.isReachable }.path
        #expect(path?.families == .ipv6 && path?.localAddresses == ["2001:db8::10"] && path?.gateways == [])
    }

    @Test("routing rules are followed, such as the one that a VPN adds")
    func rules() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        try network.ip(
            "route del ::/0", "link add eth1 type veth peer name far1", "link set far1 up", "link set eth1 up",
            "addr add 198.51.100.10/24 dev eth1", "route add default via 198.51.100.1 dev eth1 table 51820")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.path?.interface == "eth0")
        try network.ip("rule add not fwmark 51820 table 51820 priority 10")
        #expect(await updates.next()?.path?.interface == "eth1")
        try network.ip("rule del priority 10")
        #expect(await updates.next()?.path?.interface == "eth0")
    }

    @Test("the loopback interface makes only its own addresses reachable")
    func loopback() async throws {
        let network = try NetworkNamespace()
        var local = try network.monitor(ReachabilityTarget(address: "127.0.0.1")).updates.makeAsyncIterator()
        var local6 = try network.monitor(ReachabilityTarget(address: "::1")).updates.makeAsyncIterator()
        #expect(await local.next() == .notReachable)
        #expect(await local6.next() == .notReachable)
        try network.ip("link set lo up")
        #expect(await wait(&local) { $0.isReachable }.path?.kind == .loopback)
        #expect(await wait(&local6) { $0.isReachable }.path?.kind == .loopback)
        #expect(try await network.monitor().status == .notReachable)
    }

    @Test("a tunnel has the kind other, whatever its carrier, and goes down when its program ends")
    func tunnel() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let tunnel = try network.run { Tunnel(name: "tun0") }
        try #require(tunnel.descriptor >= 0, "no /dev/net/tun: \(tunnel.descriptor)")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await updates.next()?.path?.interface == "eth0")
        try network.ip(
            "link set tun0 addrgenmode none", "link set tun0 up", "addr add 10.8.0.2/24 dev tun0",
            "route add default dev tun0 metric 1", "route del ::/0")
        let path = await wait(&updates) { $0.path?.interface == "tun0" && $0.path?.families == .ipv4 }.path
        #expect(path?.kind == .other && path?.over == .wired && path?.gateways == [])
        tunnel.close()
        await wait(&updates) { $0.path?.interface == "eth0" }
    }

    @Test(
        "a bridge has the kind of its ports",
        .enabled(if: NetworkNamespace.knows("bridge"), "the kernel has no bridges"))
    func bridge() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        try network.ip("link set eth0 down")
        try network.ip(
            "link add br0 type bridge", "link set br0 up", "addr flush dev eth0", "link set eth0 master br0 up",
            "addr add 192.0.2.10/24 dev br0", "route add default via 192.0.2.1 dev br0")
        var updates = try network.monitor().updates.makeAsyncIterator()
        #expect(await wait(&updates) { $0.isReachable }.path?.kind == .wired)
        try network.ip("link set far0 down")
        await wait(&updates) { $0 == .notReachable }
    }

    @Test("an address is reachable through a neighbour, a route, or its own interface if it is link-local")
    func addresses() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        try network.ip("route del default", "route del ::/0", "addr add fe80::7/64 dev eth0 nodad")
        func status(_ text: String) async throws -> ReachabilityStatus {
            try await network.monitor(ReachabilityTarget(address: text)).status
        }
        #expect(try await status("192.0.2.77").path?.interface == "eth0")
        #expect(try await status("192.0.2.10").path?.kind == .loopback)
        #expect(try await status("203.0.113.5") == .notReachable)
        #expect(try await status("fe80::99%eth0").path?.localAddresses == ["fe80::7"])
        #expect(try await status("fe80::99%nowhere") == .notReachable)
        #expect(try await status("192.0.2.255") == .notReachable)
        var updates = try network.monitor(ReachabilityTarget(address: "203.0.113.5")).updates.makeAsyncIterator()
        #expect(await updates.next() == .notReachable)
        try network.ip("route add 203.0.113.0/24 via 192.0.2.1")
        #expect(await updates.next()?.path?.gateways == ["192.0.2.1"])
        #expect(try await network.monitor().status == .notReachable)
    }
}

/// A tunnel whose program is this process.
struct Tunnel {
    /// A descriptor; a negative error number if there is none.
    let descriptor: Int32

    init(name: String) {
        let opened = open("/dev/net/tun", O_RDWR | O_CLOEXEC)
        guard opened >= 0 else {
            descriptor = -errno
            return
        }
        // The request is a struct ifreq: the name in 16 bytes, then IFF_TUN | IFF_NO_PI.
        var request = Array(name.utf8) + [UInt8](repeating: 0, count: 40 - name.utf8.count)
        request[16] = 0x01
        request[17] = 0x10
        let status = ioctl(opened, 0x4004_54CA, &request)
        descriptor = status == 0 ? opened : -errno
    }

    func close() { _ = Glibc.close(descriptor) }
}
