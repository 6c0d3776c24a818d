internal import CLibcurl
internal import Glibc

/// A socket of the engine's as the loop sees it. Not `Sendable`: it never leaves its loop's thread.
final class Connection: SocketHandler {
    let descriptor: Int32
    /// Whether the engine opened it through us and will close it through us; its resolver's pipes it does not.
    let isTracked: Bool
    /// The handle that last showed interest in the socket; nil while the connection is idle.
    var user: EasyHandle?
    /// Whether several transfers share the connection, so that bytes may arrive at any time.
    var isMultiplexed = false
    /// Whether a request has gone over it.
    var isUsed = false
    /// Whether its local port is known, which is once a request was about to go over it.
    var isNamed = false
    private let inode: UInt64
    private unowned let multi: MultiHandle

    init(descriptor: Int32, isTracked: Bool, multi: MultiHandle) {
        self.descriptor = descriptor
        self.isTracked = isTracked
        self.multi = multi
        inode = isTracked ? Self.inode(of: descriptor) : 0
    }

    /// Whether the descriptor still is this socket: libcurl 7.88 closes one that never got connected without a word.
    var isOpen: Bool { inode != 0 && Self.inode(of: descriptor) == inode }

    private static func inode(of descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    func socketReady(_ descriptor: Int32, events: UInt32) {
        if !isMultiplexed { user?.transfer?.noteActivity() }
        var action: Int32 = 0
        if events & Readiness.input != 0 || events & Readiness.hangUp != 0 { action |= CURL_CSELECT_IN }
        if events & Readiness.output != 0 { action |= CURL_CSELECT_OUT }
        if events & Readiness.error != 0 { action |= CURL_CSELECT_ERR }
        multi.act(on: descriptor, action)
    }

    /// The local port; 0 where there is none, as with a Unix socket.
    var localPort: Int32 {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard status == 0 else { return 0 }
        let family = Int32(address.ss_family)
        return withUnsafeBytes(of: &address) { bytes in
            switch family {
            // The port stands at the same place in both kinds of address.
            case AF_INET, AF_INET6: Int32(bytes[2]) << 8 | Int32(bytes[3])
            default: 0
            }
        }
    }

    /// Whether something can be read, the end included, though no request is under way.
    var hasStrayInput: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }
}
