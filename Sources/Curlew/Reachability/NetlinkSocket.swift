internal import CLinux
internal import Glibc

/// A socket that speaks with the kernel about the network (netlink(7)). It never blocks, and is closed with its last
/// reference.
final class NetlinkSocket {
    enum Reception {
        case message(ArraySlice<UInt8>)
        /// More was sent than the socket's buffer holds, or one message was longer than ours.
        case lost
        /// It came from another process, which may send what it likes.
        case foreign
        case nothing
        case failed(Int32)
    }

    /// The most bytes that wait to be read, unless a test wants less. When it is full the kernel says so.
    static let receiveBuffer = 1 << 20
    /// The kernel writes no more than half of this at once.
    private static let messageLimit = 1 << 16

    /// Whatever brings something new: interfaces, addresses, routes, rules of routing.
    private static let needed = [RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE]
    /// The same for what a kernel may have been built without, or be too old for.
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

    /// Subscribes to every change.
    func subscribe() throws {
        for group in Self.needed {
            guard join(group) else { throw CurlewError(netlink: errno, "changes of the network are not told") }
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
            // The whole length is reported, also of a message that was truncated.
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

/// Addresses of netlink's, as the system's calls want them.
private enum NetlinkAddress {
    /// The kernel's, whose number is 0.
    fileprivate static func withKernel<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_nl()
        address.nl_family = UInt16(AF_NETLINK)
        return withUnsafePointer(to: address) {
            // One after the other in memory, as the calls read it.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_nl>.size)) }
        }
    }

    /// Receives, and returns the number of the sender.
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

/// The way in which netlink sockets are made.
struct NetlinkOpening: Sendable {
    /// Makes one with a buffer of so many bytes: a descriptor, or a negative error number. A socket belongs to the network
    /// namespace of the thread that makes it.
    var socket: @Sendable (Int32) -> Int32 = { system($0) }
    var receiveBuffer = NetlinkSocket.receiveBuffer

    static func system(_ receiveBuffer: Int32) -> Int32 {
        // On Linux these two flags of files are those of sockets.
        let kind = Int32(curlew_socket_raw) | O_CLOEXEC | O_NONBLOCK
        let descriptor = Glibc.socket(AF_NETLINK, kind, NETLINK_ROUTE)
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
    ///   - message: What could not be done.
    init(netlink number: Int32, _ message: String) {
        let exhausted: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
        let code: ErrorCode = exhausted.contains(number) ? .resourcesExhausted : .reachabilityUnavailable
        self.init(code, "\(message) (\(describe(number)))")
    }
}
