#if TestKit
internal import Glibc
internal import NIOCore

/// Where a test server listens. Ports are free ones that the kernel picks, unless a server is to have that of another.
public struct ServerAddress: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case ip(String, port: Int)
        case unixSocket(path: String)
    }

    let kind: Kind

    /// `127.0.0.1`.
    public static let ipv4 = ServerAddress(kind: .ip("127.0.0.1", port: 0))
    /// `::1`.
    public static let ipv6 = ServerAddress(kind: .ip("::1", port: 0))

    /// Another local address, such as `127.0.0.2`: the whole of 127.0.0.0/8 is loopback on Linux.
    public static func ip(_ address: String) -> ServerAddress {
        ServerAddress(kind: .ip(address, port: 0))
    }

    /// Another local address, and a port: that of a server that listens at another address, where one host is to have several.
    /// Starting the server fails if somebody has the port.
    public static func ip(_ address: String, port: Int) -> ServerAddress {
        ServerAddress(kind: .ip(address, port: port))
    }

    /// A Unix socket at `path`, removed when the server ends. The kernel allows 107 bytes.
    public static func unixSocket(path: String) -> ServerAddress {
        ServerAddress(kind: .unixSocket(path: path))
    }

    /// The host as a URL writes it: a name for a Unix socket, brackets around IPv6.
    var urlHost: String {
        switch self.kind {
        case .ip(let address, _): address.contains(":") ? "[\(address)]" : address
        case .unixSocket: "localhost"
        }
    }

    func removeSocketFile() {
        if case .unixSocket(let path) = self.kind { _ = unlink(path) }
    }
}
#endif
