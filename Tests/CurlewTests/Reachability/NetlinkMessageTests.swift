import Glibc
import Testing

@testable import CurlewCore

@Suite("Messages of the kernel")
struct NetlinkMessageTests {
    private typealias Text = NetlinkText

    private func read(_ bytes: [UInt8]) -> [NetlinkMessage] { NetlinkMessage.read(bytes[...]) }

    private func readLink(_ payload: [UInt8]) -> NetworkLink? {
        guard case .link(let link)? = read(Text.message(16, payload)).first?.content else { return nil }
        return link
    }

    private func readRoute(_ payload: [UInt8]) -> NetworkRoute? {
        guard case .route(let route)? = read(Text.message(24, payload)).first?.content else { return nil }
        return route
    }

    @Test("a link message has an index, a name, a driver, and its lower and master interfaces")
    func wholeLink() throws {
        let payload =
            Text.linkHead() + Text.name("vlan7") + Text.driver("vlan") + Text.attribute(5, Text.bytes(UInt32(2)))
            + Text.attribute(10, Text.bytes(UInt32(9)))
        let link = try #require(readLink(payload))
        #expect(link.index == 3 && link.name == "vlan7" && link.driver == "vlan" && link.hardware == 1)
        #expect(link.lower == 2 && link.master == 9 && link.isRunning && !link.isLoopback)
    }

    @Test(
        "an interface is running if it is up and has a carrier",
        arguments: [(0x1, false), (0x40, false), (0x41, true), (0, false)] as [(UInt32, Bool)])
    func running(flags: UInt32, isRunning: Bool) throws {
        #expect(try #require(readLink(Text.linkHead(flags: flags) + Text.name("e"))).isRunning == isRunning)
    }

    @Test("a lower interface in another namespace is not looked up in this one")
    func elsewhere() throws {
        let lower = Text.attribute(5, Text.bytes(UInt32(2)))
        let netns = Text.attribute(37, Text.bytes(UInt32(0)))
        #expect(try #require(readLink(Text.linkHead() + Text.name("m") + lower)).lower == 2)
        #expect(try #require(readLink(Text.linkHead() + Text.name("m") + lower + netns)).lower == nil)
    }

    @Test("a bridge's message about its port is not read as one about the interface")
    func bridgePort() { #expect(readLink(Text.linkHead(family: 7) + Text.name("eth0")) == nil) }

    @Test(
        "an invalid interface name is refused, because it becomes part of a path",
        arguments: ["", ".", "..", "a/b", "../../etc", "a b", "a\nb", "sixteen-letters0"])
    func names(_ name: String) { #expect(readLink(Text.linkHead() + Text.name(name)) == nil) }

    @Test("a route has an interface, a source and a gateway, which may be of the other family")
    func wholeRoute() throws {
        let output = Text.attribute(4, Text.bytes(UInt32(5)))
        let source = Text.attribute(7, [192, 0, 2, 10])
        let plain = try #require(readRoute(Text.routeHead() + output + source + Text.attribute(5, [192, 0, 2, 1])))
        #expect(plain.link == 5 && plain.fate == .sent && !plain.isIPv6)
        #expect(plain.source?.description == "192.0.2.10" && plain.gateway?.description == "192.0.2.1")
        let via = Text.bytes(UInt16(AF_INET6)) + [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        let mixed = try #require(readRoute(Text.routeHead() + output + source + Text.attribute(18, via)))
        #expect(mixed.gateway?.description == "fe80::1")
    }

    @Test(
        "the kind of a route tells whether a packet is sent, delivered locally or refused",
        arguments: [
            (1, NetworkRoute.Fate.sent), (2, .kept), (4, .kept), (3, .refused), (5, .refused), (6, .refused),
            (7, .refused), (8, .refused), (200, .refused),
        ] as [(UInt8, NetworkRoute.Fate)])
    func fates(kind: UInt8, fate: NetworkRoute.Fate) throws {
        #expect(try #require(readRoute(Text.routeHead(kind: kind))).fate == fate)
    }

    @Test("an address of the wrong length, or of zeros, is read as absent")
    func oddAddresses() throws {
        let route = try #require(
            readRoute(Text.routeHead() + Text.attribute(7, [1, 2, 3]) + Text.attribute(5, [0, 0, 0, 0])))
        #expect(route.source == nil && route.gateway == nil && route.link == 0)
    }

    @Test("errors, ends, overruns and interruptions are read from the kernel's messages")
    func control() {
        let reason = Text.bytes(Int32(-ENETUNREACH))
        let bytes =
            Text.message(2, sequence: 1, reason) + Text.message(3, flags: 0x10, Text.bytes(Int32(0)))
            + Text.message(4, []) + Text.message(2, Text.bytes(Int32.min)) + Text.message(77, [1, 2])
        let messages = read(bytes)
        #expect(
            messages.map(\.content) == [.failure(ENETUNREACH), .done(0), .overrun, .failure(Int32.min), .other])
        #expect(messages.map(\.isInterrupted) == [false, true, false, false, false])
        #expect(messages.map(\.sequence) == [1, 7, 7, 7, 7])
    }

    @Test("an impossible length ends the reading, whatever follows")
    func badLengths() {
        let good = Text.message(3, Text.bytes(Int32(0)))
        for length in [0, 1, 15, 41, UInt32.max] {
            let bad = Text.bytes(UInt32(length)) + good.dropFirst(4)
            #expect(read(good + bad + good).count == 1)
        }
        #expect(read([]).isEmpty && read(Array(good.dropLast())).isEmpty)
        let attributes = NetlinkBytes((Text.attribute(1, [9]) + [3, 0, 2, 0] + Text.attribute(3, [8]))[...])
        #expect(attributes.attributes(from: 0).keys.sorted() == [1])
        #expect(attributes.attributes(from: 99).isEmpty && attributes.attributes(from: -1).isEmpty)
    }

    @Test("a truncated message is read without a trap")
    func prefixes() {
        let link = Text.message(16, Text.linkHead() + Text.name("eth0") + Text.driver("veth"))
        let route = Text.message(24, Text.routeHead() + Text.attribute(4, Text.bytes(UInt32(5))))
        for message in [link, route] {
            for count in 0..<message.count {
                #expect(read(Array(message.prefix(count))).isEmpty)
                // The truncated message declares its actual length here.
                guard count >= 16 else { continue }
                let cut = Text.bytes(UInt32(count)) + message[4..<count]
                #expect(read(Array(cut)).count == 1)
            }
        }
    }

    @Test("a request has the bytes of rtnetlink(7)")
    func requests() {
        let address = IPAddress(ipv4: 0xC000_0201)
        let expected: [UInt8] =
            Text.bytes(UInt32(44)) + Text.bytes(UInt16(26)) + Text.bytes(UInt16(1)) + Text.bytes(UInt32(9))
            + Text.bytes(UInt32(0)) + [2, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + Text.attribute(1, [192, 0, 2, 1])
            + Text.attribute(4, Text.bytes(UInt32(6)))
        #expect(NetlinkRequest.route(to: address, by: 6, sequence: 9) == expected)
        #expect(NetlinkRequest.links(sequence: 1).count == 40)
    }
}
