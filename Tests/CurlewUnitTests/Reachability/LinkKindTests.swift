import Foundation
import Testing

@testable import CurlewCore

@Suite("The kind of a network interface")
struct LinkKindTests {
    private func link(
        _ index: UInt32, driver: String = "", hardware: Int32 = 1, lower: UInt32? = nil, master: UInt32? = nil,
        isRunning: Bool = true
    ) -> NetworkLink {
        var link = NetworkLink(index: index, name: "if\(index)", flags: isRunning ? 0x41 : 0x1)
        link.driver = driver
        link.hardware = hardware
        link.lower = lower
        link.master = master
        return link
    }

    private func kinds(
        _ links: NetworkLink..., types: [UInt32: String] = [:], isKnown: Bool = true
    ) -> LinkKinds {
        LinkKinds(links: Dictionary(uniqueKeysWithValues: links.map { ($0.index, $0) })) { link in
            .init(isKnown: isKnown, deviceType: types[link.index])
        }
    }

    @Test("the kind of hardware is read from /sys, and the kind of an Ethernet interface is unknown without it")
    func hardware() {
        let card = link(2)
        #expect(kinds().kind(of: card) == .wired)
        #expect(kinds(isKnown: false).kind(of: card) == .other)
        #expect(kinds(types: [2: "wlan"]).kind(of: card) == .wifi)
        #expect(kinds(types: [2: "wwan"]).kind(of: card) == .cellular)
        #expect(kinds(types: [2: "bluetooth"]).kind(of: card) == .other)
        #expect(kinds().kind(of: link(2, hardware: 519)) == .other)
        #expect(kinds(isKnown: false).kind(of: link(2, hardware: 803)) == .wifi)
        var loopback = link(1, hardware: 772)
        #expect(kinds().kind(of: loopback) == .loopback)
        loopback.hardware = 1
        loopback.flags |= 0x8
        #expect(kinds().kind(of: loopback) == .loopback)
    }

    @Test(
        "a virtual interface has the kind that its driver implies",
        arguments: [
            ("veth", ReachabilityStatus.Path.InterfaceKind.wired), ("wwan", .cellular), ("rmnet", .cellular),
            ("tun", .other),
            ("wireguard", .other), ("dummy", .other), ("vrf", .other), ("yet-to-come", .other),
        ])
    func drivers(driver: String, kind: ReachabilityStatus.Path.InterfaceKind) {
        #expect(kinds().kind(of: link(2, driver: driver)) == kind)
    }

    @Test("a VLAN has the kind of its lower interface, also through a bond, or else the kind other")
    func slices() {
        let kinds = kinds(
            link(2, master: 3), link(3, driver: "bond"), link(4, driver: "vlan", lower: 3), types: [2: "wlan"])
        #expect(kinds.kind(of: link(4, driver: "vlan", lower: 3)) == .wifi)
        #expect(kinds.kind(of: link(5, driver: "macvlan")) == .other)
        #expect(kinds.kind(of: link(5, driver: "macvlan", lower: 99)) == .other)
    }

    @Test(
        "a bridge has the kind of its running ports, an expensive one first, or else the kind other"
    )
    func bridges() {
        let bridge = link(9, driver: "bridge")
        #expect(kinds(bridge).kind(of: bridge) == .other)
        #expect(kinds(bridge, link(2, master: 9)).kind(of: bridge) == .wired)
        #expect(kinds(bridge, link(2, master: 9, isRunning: false)).kind(of: bridge) == .other)
        let mixed = kinds(bridge, link(2, master: 9), link(3, driver: "wwan", master: 9))
        #expect(mixed.kind(of: bridge) == .cellular)
    }

    @Test("interfaces with circular references are read in finite time")
    func circle() {
        let first = link(2, driver: "vlan", lower: 3)
        let second = link(3, driver: "vlan", lower: 2)
        #expect(kinds(first, second).kind(of: first) == .other)
    }

    @Test("a tunnel has the kind of its lower interface, or else the only kind of running hardware")
    func carriers() {
        let tunnel = link(9, driver: "tun", hardware: 65534)
        #expect(kinds(tunnel).carrier(of: tunnel) == nil)
        #expect(kinds(tunnel, link(2, driver: "wwan")).carrier(of: tunnel) == .cellular)
        let two = kinds(tunnel, link(2, driver: "wwan"), link(3))
        #expect(two.carrier(of: tunnel) == nil)
        #expect(two.carrier(of: link(8, driver: "gre", lower: 2)) == .cellular)
        let one = kinds(tunnel, link(2, driver: "wwan"), link(3, isRunning: false))
        #expect(one.carrier(of: tunnel) == .cellular)
        #expect(one.carrier(of: link(3)) == nil)
    }

    // MARK: /sys

    private func folder(_ files: [String: String], folders: [String] = []) throws -> String {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("curlew-\(UUID().uuidString)")
        for folder in folders + [""] {
            try FileManager.default.createDirectory(
                at: root.appendingPathComponent("if2/\(folder)"), withIntermediateDirectories: true)
        }
        for (name, text) in files {
            try Data(text.utf8).write(to: root.appendingPathComponent("if2/\(name)"))
        }
        return root.path
    }

    @Test("DEVTYPE and the markers of wireless drivers are read")
    func facts() throws {
        let plain = try folder(["ifindex": "2\n", "uevent": "INTERFACE=if2\nIFINDEX=2\n"])
        #expect(SystemInterfaces(root: plain).facts(link(2)) == .init(isKnown: true))
        let wireless = try folder(
            ["ifindex": "2\n", "uevent": "DEVTYPE=wlan\nINTERFACE=if2\n"], folders: ["phy80211"])
        #expect(
            SystemInterfaces(root: wireless).facts(link(2))
                == .init(isKnown: true, deviceType: "wlan", isWireless: true))
        for path in [plain, wireless] { try FileManager.default.removeItem(atPath: path) }
    }

    @Test("an interface has no properties without /sys, or with that of another namespace")
    func absent() throws {
        #expect(SystemInterfaces(root: "/nowhere").facts(link(2)) == .init())
        let other = try folder(["ifindex": "77\n", "uevent": "DEVTYPE=wlan\n"])
        #expect(SystemInterfaces(root: other).facts(link(2)) == .init())
        let broken = try folder(["ifindex": "two", "uevent": "DEVTYPE=wlan\n"])
        #expect(SystemInterfaces(root: broken).facts(link(2)) == .init())
        for path in [other, broken] { try FileManager.default.removeItem(atPath: path) }
    }
}
