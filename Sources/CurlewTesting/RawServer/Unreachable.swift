#if TestKit
internal import CurlewPlatform

/// A port that accepts no connection: connecting to it hangs until the client times out.
///
/// It listens with the smallest backlog and fills the backlog itself; the kernel then drops every further SYN.
public final class StalledListener: Sendable {
    /// The port on 127.0.0.1.
    public let port: Int
    private let descriptors: [Int32]

    /// Starts listening, fills the backlog, and never accepts.
    public init() throws {
        let listening = try LoopbackSocket.bound()
        guard listen(listening, 0) == 0 else {
            CurlewPlatform.close(listening)
            throw TestKitError("could not listen: errno \(errno)")
        }
        self.port = LoopbackSocket.port(of: listening)
        var descriptors = [listening]
        // A backlog of 0 holds one established connection; further connections stay half open, as a client's does.
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            guard filler >= 0 else { continue }
            LoopbackSocket.connect(filler, to: self.port)
            descriptors.append(filler)
        }
        self.descriptors = descriptors
    }

    deinit {
        for descriptor in self.descriptors { CurlewPlatform.close(descriptor) }
    }

    /// The URL of `path` on this port.
    public func url(_ path: String = "/") -> String {
        "http://127.0.0.1:\(self.port)\(path)"
    }
}

/// A loopback port that refuses connections.
///
/// The port stays bound without listening while this object lives, so that no other process can listen there.
public final class RefusedPort: Sendable {
    /// The port on 127.0.0.1.
    public let port: Int
    private let descriptor: Int32

    private init(descriptor: Int32) {
        self.descriptor = descriptor
        self.port = LoopbackSocket.port(of: descriptor)
    }

    deinit {
        CurlewPlatform.close(self.descriptor)
    }

    /// Binds a free port without listening.
    public static func unused() throws -> RefusedPort {
        RefusedPort(descriptor: try LoopbackSocket.bound())
    }

    /// The URL of `path` on this port.
    public func url(_ path: String = "/") -> String {
        "http://127.0.0.1:\(self.port)\(path)"
    }
}

private enum LoopbackSocket {
    static func bound() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw TestKitError("could not make a socket: errno \(errno)") }
        let result = self.withAddress(port: 0) { bind(descriptor, $0, $1) }
        guard result == 0 else {
            CurlewPlatform.close(descriptor)
            throw TestKitError("could not bind: errno \(errno)")
        }
        return descriptor
    }

    static func connect(_ descriptor: Int32, to port: Int) {
        _ = self.withAddress(port: port) { CurlewPlatform.connect(descriptor, $0, $1) }
    }

    static func port(of descriptor: Int32) -> Int {
        var bytes = [UInt8](repeating: 0, count: self.addressLength)
        var length = socklen_t(bytes.count)
        _ = bytes.withUnsafeMutableBytes {
            getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return Int(bytes[2]) << 8 | Int(bytes[3])
    }

    private static let addressLength = 16

    /// Calls `body` with a loopback address that is built byte by byte. The C module that owns the members of
    /// `sockaddr_in` depends on the other imports of the module (Swift 6.3 with MemberImportVisibility).
    private static func withAddress(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var bytes = [UInt8](repeating: 0, count: self.addressLength)
        bytes[0] = UInt8(AF_INET)
        bytes.replaceSubrange(2..<8, with: [UInt8(port >> 8), UInt8(port & 0xff), 127, 0, 0, 1])
        return bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return -1 }
            return body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(buffer.count))
        }
    }
}
#endif
