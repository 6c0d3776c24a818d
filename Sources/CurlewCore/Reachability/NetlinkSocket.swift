internal import CLinux
internal import CurlewPlatform

/// A socket for communication with the kernel about the network (netlink(7)). It never blocks, and is closed when the
/// last reference is released.
final class NetlinkSocket {
    enum Reception {
        case message(ArraySlice<UInt8>)
        /// The socket's buffer overflowed, or a message was longer than the read buffer.
        case lost
        /// The message came from another process, and is not trusted.
        case foreign
        case nothing
        case failed(Int32)
    }

    /// The most bytes that wait to be read, unless a test sets fewer. The kernel reports an overflow.
    static let receiveBuffer = 1 << 20
    /// The most bytes of a message. The kernel writes at most half of this at once.
    private static let messageLimit = 1 << 16

    /// The groups with changes of interfaces, addresses and routes.
    private static let needed = [RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE]
    /// Further groups of changes, which a kernel may lack.
    private static let optional = [
        RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP,
    ]

    let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: messageLimit)

    /// - Throws: ``CurlewError`` with ``ErrorCode/reachabilityUnavailable`` or ``ErrorCode/resourcesExhausted``.
    init(_ open: NetlinkOpening) throws {
        let result = open.socket(Int32(open.receiveBuffer))
        guard result >= 0 else { throw CurlewError(netlink: 0 - result, "no netlink socket could be made") }
        descriptor = result
    }

    deinit { close(descriptor) }

    /// Subscribes to all changes.
    func subscribe() throws {
        for group in Self.needed {
            guard join(group) else {
                throw CurlewError(netlink: errno, "changes of the network cannot be subscribed to")
            }
        }
        for group in Self.optional { _ = join(group) }
    }

    private func join(_ group: rtnetlink_groups) -> Bool {
        var number = group.rawValue
        let length = socklen_t(MemoryLayout.size(ofValue: number))
        return setsockopt(descriptor, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &number, length) == 0
    }

    func send(_ request: [UInt8]) throws {
        let sent = NetlinkAddress.withKernel { address, length in
            sendto(descriptor, request, request.count, 0, address, length)
        }
        guard sent < 0 else { return }
        throw CurlewError(netlink: errno, "the kernel cannot be asked about the network")
    }

    /// The next datagram.
    func receive() -> Reception {
        let limit = buffer.count
        let (count, sender) = NetlinkAddress.withSender { address, length in
            // With MSG_TRUNC the call returns the complete length, even for a truncated message.
            recvfrom(descriptor, &buffer, limit, Int32(MSG_TRUNC), address, length)
        }
        guard count >= 0 else {
            return switch errno {
            case ENOBUFS: .lost
            case EAGAIN, EINTR: .nothing
            default: .failed(errno)
            }
        }
        guard sender == 0 else { return .foreign }
        return count > limit ? .lost : .message(buffer[..<count])
    }
}

/// Netlink addresses in the form of the system calls.
private enum NetlinkAddress {
    /// The kernel's address, whose number is 0.
    fileprivate static func withKernel<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        return withUnsafePointer(to: address) {
            // The system calls read a `sockaddr` of this length.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_nl>.size)) }
        }
    }

    /// Receives a message, and returns the number of its sender.
    fileprivate static func withSender(
        _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int
    ) -> (count: Int, sender: UInt32) {
        var address = sockaddr_nl()
        var length = socklen_t(MemoryLayout<sockaddr_nl>.size)
        let count = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
        return (count, address.nl_pid)
    }
}

/// The method of opening netlink sockets.
struct NetlinkOpening: Sendable {
    /// Opens a socket with a given buffer size. Returns a descriptor, or a negative error number. The socket belongs to
    /// the network namespace of the thread that opens it.
    var socket: @Sendable (Int32) -> Int32 = { system($0) }
    var receiveBuffer = NetlinkSocket.receiveBuffer

    static func system(_ receiveBuffer: Int32) -> Int32 {
        // On Linux, these two file flags have the values of the socket flags.
        let kind = Int32(curlew_socket_raw) | O_CLOEXEC | O_NONBLOCK
        let descriptor = CurlewPlatform.socket(AF_NETLINK, kind, NETLINK_ROUTE)
        guard descriptor >= 0 else { return 0 - errno }
        var size = receiveBuffer
        let length = socklen_t(MemoryLayout.size(ofValue: size))
        guard setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length) == 0,
            NetlinkAddress.withKernel({ bind(descriptor, $0, $1) }) == 0
        else {
            let reason = errno
            close(descriptor)
            return 0 - reason
        }
        return descriptor
    }
}

extension CurlewError {
    /// - Parameters:
    ///   - number: The system's error number.
    ///   - message: A description of the failed operation.
    init(netlink number: Int32, _ message: String) {
        let exhausted: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
        let code: ErrorCode = exhausted.contains(number) ? .resourcesExhausted : .reachabilityUnavailable
        self.init(code, "\(message) (\(describe(number)))")
    }
}
