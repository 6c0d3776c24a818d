#if TestKit
internal import Glibc
internal import NIOCore

/// Where a test server listens. Ports are always free ones that the kernel picks.
public struct ServerAddress: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case ip(String)
        case unixSocket(path: String)
    }

    let kind: Kind

    /// `127.0.0.1`.
    public static let ipv4 = ServerAddress(kind: .ip("127.0.0.1"))
    /// `::1`.
    public static let ipv6 = ServerAddress(kind: .ip("::1"))

    /// Another local address, such as `127.0.0.2`: the whole of 127.0.0.0/8 is loopback on Linux.
    public static func ip(_ address: String) -> ServerAddress {
        ServerAddress(kind: .ip(address))
    }

    /// A Unix socket at `path`, removed when the server ends. The kernel allows 107 bytes.
    public static func unixSocket(path: String) -> ServerAddress {
        ServerAddress(kind: .unixSocket(path: path))
    }

    /// The host as a URL writes it: a name for a Unix socket, brackets around IPv6.
    var urlHost: String {
        switch self.kind {
        case .ip(let address): address.contains(":") ? "[\(address)]" : address
        case .unixSocket: "localhost"
        }
    }

    func removeSocketFile() {
        if case .unixSocket(let path) = self.kind { _ = unlink(path) }
    }
}
#endif
