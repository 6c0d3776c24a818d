#if TestKit
internal import CurlewPlatform

/// The peer of a connected socket.
struct ConnectedPeer: CustomStringConvertible {
    /// The peer's address: `to 127.0.0.1 port 8080`, or `local` for a family without ports.
    let description: String

    /// Reads the peer of a descriptor; `nil` when the descriptor is not a connected socket.
    init?(of descriptor: Int32) {
        // The address is read byte by byte: the C module that owns the address types depends on the other imports of
        // the module.
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
