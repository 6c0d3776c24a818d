import CurlewTestingTraits
import Foundation
import Glibc
import Testing

@testable import CurlewCore

@Suite("Listeners of a reachability monitor", .needsNamespaces, .noLeaks, .noLongTurns, .timeLimit(.minutes(2)))
struct MonitorTests {
    /// The sockets of the process. Loops of earlier tests may still be closing theirs.
    private func sockets() throws -> Set<String> {
        let folder = "/proc/self/fd"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        // The names contain the descriptor of the folder itself, which is closed by now.
        return Set(
            names.compactMap { name in
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            }.filter { $0.hasPrefix("socket:") })
    }

    @Test("a monitor has two descriptors while it has listeners, and none before and after")
    func descriptorCount() async throws {
        let network = try NetworkNamespace()
        let monitor = try network.monitor()
        let before = try sockets()
        do {
            var first = monitor.updates.makeAsyncIterator()
            var second = monitor.updates.makeAsyncIterator()
            #expect(await first.next() == .notReachable)
            #expect(await second.next() == .notReachable)
            #expect(try sockets().subtracting(before).count == 2)
        }
        try await waitUntil { (try? sockets())?.isSubset(of: before) == true }
        for _ in 0..<50 { #expect(await monitor.status == .notReachable) }
        try await waitUntil { (try? sockets())?.isSubset(of: before) == true }
        #expect(monitor.listenerCount == 0)
    }

    @Test("the first element after a pause is the current status")
    func restart() async throws {
        let network = try NetworkNamespace()
        let monitor = try network.monitor()
        #expect(await monitor.status == .notReachable)
        try network.plugIn()
        #expect(await monitor.status.isReachable)
        try network.ip("link set far0 down")
        #expect(await monitor.status == .notReachable)
    }

    @Test("a hundred listeners get the same elements, late listeners included")
    func manyListeners() async throws {
        let network = try NetworkNamespace()
        let monitor = try network.monitor()
        try await withThrowingTaskGroup(of: ReachabilityStatus.self) { group in
            for _ in 0..<100 {
                var updates = monitor.updates.makeAsyncIterator()
                group.addTask {
                    await wait(&updates) { $0.path?.families == .both }
                }
            }
            #expect(monitor.listenerCount == 100)
            try network.plugIn()
            for try await status in group { #expect(status.path?.interface == "eth0") }
        }
        var late = monitor.updates.makeAsyncIterator()
        #expect(await late.next()?.isReachable == true)
        #expect(monitor.listenerCount == 1)
    }

    @Test("a waiting listener can be cancelled, and the others continue")
    func cancellation() async throws {
        let network = try NetworkNamespace()
        let monitor = try network.monitor()
        var other = monitor.updates.makeAsyncIterator()
        #expect(await other.next() == .notReachable)
        let (first, told) = AsyncStream.makeStream(of: Void.self)
        let waiting = Task {
            var updates = monitor.updates.makeAsyncIterator()
            _ = await updates.next()
            told.yield()
            return await updates.next()
        }
        for await _ in first { break }
        waiting.cancel()
        #expect(await waiting.value == nil)
        try await waitUntil { monitor.listenerCount == 1 }
        try network.plugIn()
        await wait(&other) { $0.isReachable }
    }

    @Test("a listener keeps its monitor alive, and the monitor is freed with the last listener")
    func dropped() async throws {
        let network = try NetworkNamespace()
        weak var weakly: ReachabilityMonitor?
        do {
            var monitor: ReachabilityMonitor? = try network.monitor()
            weakly = monitor
            var updates = try #require(monitor?.updates.makeAsyncIterator())
            monitor = nil
            #expect(await updates.next() == .notReachable)
            try network.plugIn()
            await wait(&updates) { $0.isReachable }
            #expect(weakly != nil)
        }
        try await waitUntil { weakly == nil }
    }

    @Test("after a thousand changes the last status is published, and a slow listener has one element to read")
    func flapping() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        let loop = try CurlewEventLoop(name: "curlew-test")
        let monitor = try network.monitor { $0.loop = loop }
        var quick = monitor.updates.makeAsyncIterator()
        var slow = monitor.updates.makeAsyncIterator()
        #expect(await quick.next()?.isReachable == true)
        #expect(await slow.next()?.isReachable == true)
        var lines = (0..<1000).flatMap { _ in ["link set far0 down", "link set far0 up"] }
        lines += ["link set far0 down", "addr add 192.0.2.99/24 dev eth0", "link set far0 up"]
        lines += ["route change default via 192.0.2.2 dev eth0 metric 100"]
        let memory = residentBytes()
        try network.ip(lines)
        await wait(&quick) { $0.path?.gateways.contains("192.0.2.2") == true && $0.path?.families == .both }
        // Listeners are notified one by one, in no order: the fast one may be running before the slow one gets the last
        // state. The notifying turn of the loop ends before this returns.
        await withCheckedContinuation { done in loop.core.execute { done.resume() } }
        let last = try #require(await slow.next())
        #expect(last.path?.gateways.contains("192.0.2.2") == true)
        #expect(residentBytes() - memory < 16 << 20)
        // The slow listener continues.
        try network.ip("link set far0 down")
        await wait(&quick) { $0 == .notReachable }
        await wait(&slow) { $0 == .notReachable }
    }

    private func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    @Test("the status is correct after more changes than the socket's buffer holds")
    func overrun() async throws {
        let network = try NetworkNamespace()
        try network.plugIn()
        var opening = network.opening
        opening.receiveBuffer = 2048
        // The overflow is shown with an unread socket: the burst exceeds such a buffer.
        let unread = try NetlinkSocket(opening)
        try unread.subscribe()
        let loop = try CurlewEventLoop(name: "curlew-test")
        let monitor = try network.monitor {
            $0.opening = opening
            $0.loop = loop
        }
        var updates = monitor.updates.makeAsyncIterator()
        #expect(await updates.next()?.isReachable == true)
        let held = DispatchSemaphore(value: 0)
        loop.core.execute { held.wait() }
        try network.ip((0..<200).flatMap { _ in ["link set far0 down", "link set far0 up"] } + ["link set far0 down"])
        held.signal()
        await wait(&updates) { $0 == .notReachable }
        try network.ip("link set far0 up")
        await wait(&updates) { $0.isReachable }
        var isLost = false
        while !isLost {
            switch unread.receive() {
            case .lost: isLost = true
            case .message: continue
            default: break
            }
            if !isLost, case .nothing = unread.receive() { break }
        }
        #expect(isLost)
    }

    @Test("messages of another process on the netlink socket are ignored")
    func spoofed() throws {
        let network = try NetworkNamespace()
        let listening = try NetlinkSocket(network.opening)
        var address = [UInt8](repeating: 0, count: 12)
        var length = socklen_t(12)
        let status = address.withUnsafeMutableBytes {
            getsockname(listening.descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        #expect(status == 0)
        let other = try NetlinkSocket(network.opening)
        let message = NetlinkText.message(16, NetlinkText.linkHead() + NetlinkText.name("eth9"))
        let sent = address.withUnsafeBytes {
            sendto(
                other.descriptor, message, message.count, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                length)
        }
        #expect(sent == message.count)
        guard case .foreign = listening.receive() else {
            Issue.record("a message of another process was taken")
            return
        }
    }
}
