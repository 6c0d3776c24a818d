import Foundation
import Glibc
import Testing

@testable import CurlewCore

// Swift's Glibc module lacks these GNU extensions.
private let enterNewNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET
private let unshare = systemFunction("unshare", as: (@convention(c) (Int32) -> Int32).self)
private let setns = systemFunction("setns", as: (@convention(c) (Int32, Int32) -> Int32).self)

private func systemFunction<Function>(_ name: String, as type: Function.Type) -> Function? {
    dlsym(nil, name).map { unsafeBitCast($0, to: type) }
}

/// A network namespace of a test: its interfaces and routes are invisible to others.
///
/// Threads enter it, not processes. The kernel removes it with its last reference.
final class NetworkNamespace: Sendable {
    private let descriptor: Int32

    /// The reason why no namespace can be created; nil if it can. It requires root, and `ip` of the package iproute2.
    static let obstacle: String? = {
        if access("/usr/sbin/ip", X_OK) != 0, access("/sbin/ip", X_OK) != 0 { return "there is no ip (iproute2)" }
        do {
            _ = try NetworkNamespace()
            return nil
        } catch {
            return "no network namespace can be made: \(error)"
        }
    }()

    /// True if the kernel can create links of this kind.
    static func knows(_ kind: String) -> Bool {
        isPermitted && (try? NetworkNamespace().ip("link add name probe0 type \(kind)")) != nil
    }

    static var isPermitted: Bool { obstacle == nil }

    init() throws {
        descriptor = try Self.onThread {
            guard unshare?(enterNewNetwork) == 0 else { throw NamespaceError("unshare", errno) }
            let descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw NamespaceError("open", errno) }
            return descriptor
        }
    }

    deinit { close(descriptor) }

    /// Runs a closure on a thread in the namespace, and waits for it.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let descriptor = descriptor
        return try Self.onThread {
            guard setns?(descriptor, enterNewNetwork) == 0 else { throw NamespaceError("setns", errno) }
            return try body()
        }
    }

    /// Moves the calling thread into the namespace permanently.
    func enter() { _ = setns?(descriptor, enterNewNetwork) }

    /// Runs `ip` with each line as its arguments. A failed line is an error.
    func ip(_ lines: String...) throws { try ip(lines) }

    func ip(_ lines: [String]) throws {
        let text = lines.joined(separator: "\n") + "\n"
        let status = try run { try Self.batch(text) }
        guard status == 0 else { throw NamespaceError("ip \(lines.joined(separator: "; "))", status) }
    }

    /// A child process starts in the namespace of its creating thread.
    private static func batch(_ text: String) throws -> Int32 {
        let pipe = Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForReading.fileDescriptor, 0)
        posix_spawn_file_actions_addclose(&actions, pipe.fileHandleForWriting.fileDescriptor)
        var child = pid_t()
        let arguments = cStrings(["ip", "-batch", "-"])
        let environment = cStrings(["PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
        defer { (arguments + environment).forEach { free($0) } }
        let status = posix_spawnp(&child, "ip", &actions, nil, arguments, environment)
        guard status == 0 else { throw NamespaceError("posix_spawn", status) }
        try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try pipe.fileHandleForWriting.close()
        var end: Int32 = 0
        while waitpid(child, &end, 0) < 0, errno == EINTR {}
        return end
    }

    /// The words of a command for C, with a null pointer at the end. The caller frees them.
    static func cStrings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        var strings: [UnsafeMutablePointer<CChar>?] = []
        for text in texts { strings.append(strdup(text)) }
        return strings + [nil]
    }

    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let result = Guarded<Result<Value, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let outcome = Result(catching: body)
            result.withLock { $0 = outcome }
            done.signal()
        }
        thread.name = "namespace"
        thread.start()
        done.wait()
        guard let outcome = result.withLock({ $0 }) else { throw NamespaceError("thread", 0) }
        return try outcome.get()
    }

    // MARK: Contents

    /// Sockets that a monitor opens in the namespace.
    var opening: NetlinkOpening {
        NetlinkOpening(socket: { [self] size in (try? run { NetlinkOpening.system(size) }) ?? -EPERM })
    }

    /// A monitor of this network.
    func monitor(
        _ target: ReachabilityTarget = .everything, _ adjust: (inout NetworkSource) -> Void = { _ in }
    ) throws -> ReachabilityMonitor {
        var source = NetworkSource()
        source.opening = opening
        // The folder describes the network of this process, which is another one.
        source.interfaces.root = "/nowhere"
        adjust(&source)
        return try ReachabilityMonitor(target, source: source)
    }

    /// Adds loopback and a cable: `eth0` with an address of each family, connected to `far0`, and its routes.
    func plugIn(metric: Int = 100) throws {
        try ip(
            "link set lo up", "link add eth0 type veth peer name far0", "link set far0 up",
            "link set eth0 addrgenmode none", "link set eth0 up",
            "addr add 192.0.2.10/24 dev eth0", "addr add 2001:db8::10/64 dev eth0 nodad",
            "route add default via 192.0.2.1 dev eth0 metric \(metric)",
            "route add default via 2001:db8::1 dev eth0 metric \(metric)")
    }
}

struct NamespaceError: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, _ number: Int32) { description = "\(call): \(number) (\(String(cString: strerror(number))))" }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test only if network namespaces can be created.
    static var needsNamespaces: Self {
        .enabled(
            if: NetworkNamespace.isPermitted, "\(NetworkNamespace.obstacle ?? "network namespaces are permitted")")
    }
}
