#if TestKit
internal import Glibc

/// Whom a socket is connected to.
struct ConnectedPeer: CustomStringConvertible {
    /// `to 127.0.0.1 port 8080`, or `local` for what has no port.
    let description: String

    /// `nil` when the descriptor is no socket, or is not connected.
    init?(of descriptor: Int32) {
        // Read byte by byte: which C module owns the address types depends on what else a whole module imports.
        var bytes = [UInt8](repeating: 0, count: 128)
        var length = socklen_t(bytes.count)
        let result = bytes.withUnsafeMutableBytes {
            getpeername(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard result == 0 else { return nil }
        let family = Int32(bytes[0]) | Int32(bytes[1]) << 8
        let port = Int(bytes[2]) << 8 | Int(bytes[3])
        switch family {
        case AF_INET: self.description = "to \(bytes[4..<8].map(String.init).joined(separator: ".")) port \(port)"
        case AF_INET6: self.description = "over IPv6 to port \(port)"
        default: self.description = "local"
        }
    }
}
#endif
