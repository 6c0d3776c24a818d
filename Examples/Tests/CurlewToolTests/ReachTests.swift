import Foundation
import Testing

@Suite("curlew reach", .timeLimit(.minutes(1)))
struct ReachTests {
    /// The reason why a network namespace cannot be created; nil if it can.
    private static let obstacle: String? = {
        let probe = Process()
        probe.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        probe.arguments = ["--net", "ip", "link"]
        probe.standardOutput = FileHandle.nullDevice
        probe.standardError = FileHandle.nullDevice
        do {
            try probe.run()
            probe.waitUntilExit()
            return probe.terminationStatus == 0 ? nil : "network namespaces are not permitted"
        } catch {
            return "there is no unshare: \(error)"
        }
    }()

    private func ip(of process: CommandProcess, _ arguments: String) throws {
        let ip = Process()
        ip.executableURL = URL(fileURLWithPath: "/usr/bin/nsenter")
        ip.arguments =
            ["--net=/proc/\(process.identifier)/ns/net", "ip"] + arguments.split(separator: " ").map(String.init)
        try ip.run()
        ip.waitUntilExit()
        #expect(ip.terminationStatus == 0, "ip \(arguments)")
    }

    @Test("the command prints the present state in one line, and exits with 0 after an interrupt")
    func present() async throws {
        let process = try CommandProcess(["reach", "127.0.0.1"])
        #expect(await process.next() == "reachable via loopback lo (IPv4) from 127.0.0.1")
        process.interrupt()
        #expect(await process.next() == nil)
        #expect(await process.status() == 0)
        #expect(try process.complaints().isEmpty)
    }

    @Test(
        "the command prints one line for each change of the network", .enabled(if: obstacle == nil, "\(obstacle ?? "")")
    )
    func changes() async throws {
        let process = try CommandProcess(["reach"], prefix: ["/usr/bin/unshare", "--net"])
        #expect(await process.next() == "not reachable")
        try ip(of: process, "link add eth0 type veth peer name far0")
        for arguments in [
            "link set far0 up", "link set eth0 up", "addr add 192.0.2.10/24 dev eth0",
            "route add default via 192.0.2.1 dev eth0",
        ] {
            try ip(of: process, arguments)
        }
        #expect(await process.next() == "reachable via wired eth0 (IPv4) from 192.0.2.10 by 192.0.2.1")
        try ip(of: process, "link set far0 down")
        #expect(await process.next() == "not reachable")
        process.interrupt()
        #expect(await process.status() == 0)
    }

    @Test(
        "an argument that is not a host is a usage error",
        arguments: [["reach", "a b"], ["reach", "a.test", "b.test"]])
    func wrong(_ arguments: [String]) async throws {
        let process = try CommandProcess(arguments)
        #expect(await process.next() == nil)
        #expect(await process.status() == 2)
        #expect(try !process.complaints().isEmpty)
    }
}
