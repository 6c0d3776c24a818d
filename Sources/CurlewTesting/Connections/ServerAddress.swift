#if TestKit
internal import CurlewPlatform
internal import NIOCore

/// The address that a test server listens at. The kernel picks a free port, unless a port is given.
public struct ServerAddress: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case ip(String, port: Int)
        case unixSocket(path: String)
    }

    let kind: Kind

    /// The IPv4 loopback address, `127.0.0.1`.
    public static let ipv4 = ServerAddress(kind: .ip("127.0.0.1", port: 0))
    /// The IPv6 loopback address, `::1`.
    public static let ipv6 = ServerAddress(kind: .ip("::1", port: 0))

    /// Another local address, such as `127.0.0.2`: all of 127.0.0.0/8 is loopback on Linux.
    public static func ip(_ address: String) -> ServerAddress {
        ServerAddress(kind: .ip(address, port: 0))
    }

    /// Another local address with a port, which servers at several addresses of one host can share.
    ///
    /// Starting the server fails if the port is in use.
    public static func ip(_ address: String, port: Int) -> ServerAddress {
        ServerAddress(kind: .ip(address, port: port))
    }

    /// A Unix socket at `path`, removed when the server ends. The kernel allows paths of 107 bytes.
    public static func unixSocket(path: String) -> ServerAddress {
        ServerAddress(kind: .unixSocket(path: path))
    }

    /// The host in URLs: `localhost` for a Unix socket, brackets around IPv6.
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
