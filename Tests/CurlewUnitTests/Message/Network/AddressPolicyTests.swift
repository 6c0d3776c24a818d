import TestHelpers
import Testing

@testable import CurlewCore

@Suite("Networks and address policies")
struct AddressPolicyTests {
    @Test(
        "the policy publicOnly allows only the public Internet",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
            "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1",
            "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1",
            "255.255.255.255",
            "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:7f00:1", "::10.0.0.1", "::8.8.8.8",
            "64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:db8::1",
            "2001:2::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1",
            "ff02::1", "2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:10.0.0.1",
        ])
    func notPublic(_ address: String) {
        #expect(IPAddress(address) != nil)
        #expect(!AddressPolicy.publicOnly.permits(address))
        #expect(AddressPolicy.any.permits(address))
    }

    @Test(
        "addresses next to the special blocks are public",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
            "2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2a00:1450::5efe:8.8.8.8",
        ])
    func isPublic(_ address: String) { #expect(AddressPolicy.publicOnly.permits(address)) }

    @Test("an exception permits its network, and a denial overrules it")
    func lists() throws {
        let office = try IPNetwork("10.20.0.0/16")
        let policy = AddressPolicy.publicOnly.allowing([office]).denying([
            try IPNetwork("10.20.30.0/24"), try IPNetwork("8.8.8.0/24"),
        ])
        #expect(policy.permits("10.20.1.1"))
        #expect(policy.permits("::ffff:10.20.1.1"))
        #expect(!policy.permits("10.20.30.1"))
        #expect(!policy.permits("10.21.0.1"))
        #expect(!policy.permits("8.8.8.8"))
        #expect(policy.permits("8.8.4.4"))
        let only = AddressPolicy.only([office, try IPNetwork("2001:db8::/32")])
        #expect(only.permits("10.20.30.1"))
        #expect(only.permits("2001:db8:1::1"))
        #expect(!only.permits("8.8.8.8"))
        #expect(!AddressPolicy.only([]).permits("8.8.8.8"))
        #expect(!AddressPolicy.any.permits("localhost"))
    }

    @Test(
        "a denied IPv4 network cannot be reached through IPv6",
        arguments: [
            "10.0.0.1", "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::10.0.0.1",
            "64:ff9b:1:a00:0:100::", "2002:a00:1::1", "2001:0:a00:1::1", "2001:0:808:808:0:0:f5ff:fffe",
            "2a00::5efe:a00:1",
        ])
    func deniedForms(_ address: String) throws {
        let policy = AddressPolicy.any.denying([try IPNetwork("10.0.0.0/8")])
        #expect(!policy.permits(address))
        #expect(policy.permits("2a00::1"))
    }

    @Test("a Unix socket must be allowed explicitly, unless the policy allows everything")
    func unixSockets() throws {
        #expect(AddressPolicy.any.permitsUnixSockets)
        #expect(!AddressPolicy.publicOnly.permitsUnixSockets)
        #expect(!AddressPolicy.any.denying([try IPNetwork("10.0.0.0/8")]).permitsUnixSockets)
        #expect(AddressPolicy.publicOnly.allowingUnixSockets().permitsUnixSockets)
    }

    @Test("a policy for ports and https checks URLs, and does not change the rules for addresses and sockets")
    func urls() throws {
        let policy = AddressPolicy.publicOnly.ports(443, 8443).httpsOnly()
        #expect(policy.allowedPorts == [443, 8443] && policy.requiresHTTPS)
        #expect(policy.permits("8.8.8.8") && !policy.permits("127.0.0.1"))
        #expect(AddressPolicy.any.ports(80).permitsUnixSockets)
        try policy.checkScheme("https", port: 8443, host: "a.test")
        #expect(throws: CurlewError.self) { try policy.checkScheme("https", port: 80, host: "a.test") }
        #expect(throws: CurlewError.self) { try policy.checkScheme("http", port: 443, host: "a.test") }
        #expect(try decoded(policy) == policy)
        #expect(policy != AddressPolicy.publicOnly && policy.ports(1).allowedPorts == [1])
    }

    @Test("a network is parsed strictly")
    func networks() throws {
        #expect(try IPNetwork("10.0.0.0/8").description == "10.0.0.0/8")
        #expect(try IPNetwork("10.1.2.3").description == "10.1.2.3/32")
        #expect(try IPNetwork("0.0.0.0/0").description == "0.0.0.0/0")
        #expect(try IPNetwork("2001:DB8:0:0::/32").description == "2001:db8::/32")
        #expect(try IPNetwork("::/0").description == "::/0")
        #expect(try IPNetwork("::ffff:10.0.0.0/104") == IPNetwork("10.0.0.0/8"))
        #expect(try IPNetwork("1:2:3:4:5:6:7::").description == "1:2:3:4:5:6:7:0/128")
        let wrong = [
            "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.1/8",
            "10.0.0/8", "010.0.0.0/8", "10.0.0.256", "10.0.0.0 /8", " 10.0.0.0/8", "0x0a.0.0.0/8", "::1/0", "::/129",
            "1::2::3", ":::", ":1", "1:", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "[::1]",
            "fe80::1%lo", "::1.2.3", "1.2.3.4::", "::1.2.3.4:5", "::ffff:10.0.0.0/8", "example.com",
        ]
        for text in wrong { #expect(throws: CurlewError.self, "\(text)") { try IPNetwork(text) } }
    }

    @Test(
        "a host is recognized as an address in every notation",
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.0.0.01", "127.0.0.1"),
            ("2130706433", "127.0.0.1"), ("0x7F000001", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("0", "0.0.0.0"),
            ("0x", "0.0.0.0"), ("[::1]", "::1"), ("[::ffff:127.0.0.1]", "127.0.0.1"), ("[64:ff9b::1]", "64:ff9b::1"),
        ])
    func spellings(_ host: String, _ address: String) { #expect(IPAddress(host: host)?.description == address) }

    @Test(
        "a name is not an address",
        arguments: ["", ".", "localhost", "1.2.3.4.5", "256.1.1.1", "1.2.3.256", "4294967296", "08", "0xg", "a.1"])
    func names(_ host: String) { #expect(IPAddress(host: host) == nil) }

    @Test("addresses are written in the format of RFC 5952")
    func written() {
        for text in ["::", "::1", "1::", "1:0:2::3", "2001:db8:0:1:1:1:1:1", "1:2:3:4:5:6:7:8", "fe80::1:0:0:1"] {
            #expect(IPAddress(text)?.description == text)
        }
    }

    @Test("a policy survives encoding and decoding")
    func stored() throws {
        let policy = AddressPolicy.publicOnly.allowing([try IPNetwork("10.0.0.0/8")]).allowingUnixSockets()
        #expect(try decoded(policy) == policy)
        #expect(try decoded(AddressPolicy.any) == .any)
    }
}
