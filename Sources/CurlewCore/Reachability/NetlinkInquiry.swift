internal import CurlewPlatform

/// Queries to the kernel about the network. The kernel answers at once, so the queries do not wait.
final class NetlinkInquiry {
    private let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// The most interfaces that are examined.
    private static let linkLimit = 16_384
    /// The most attempts at a list that changes while it is read.
    private static let listAttempts = 4

    init(_ open: NetlinkOpening) throws { socket = try NetlinkSocket(open) }

    /// Waits until the kernel has finished a change that it has begun to report.
    ///
    /// The kernel removes the routes of a disabled interface after the message about the interface, without a further
    /// message. A query for an interface waits for the lock that such a change holds.
    func settle() { _ = try? link(1) }

    /// The present route of a packet to an address; nil if there is none.
    /// - Parameter link: The required interface; nil for any.
    /// - Throws: ``CurlewError`` if the kernel does not answer.
    func route(to address: IPAddress, by link: UInt32?) throws -> NetworkRoute? {
        let answer = try ask { NetlinkRequest.route(to: address, by: link, sequence: $0) }
        switch answer {
        case .route(let route): return route
        case .failure(let reason): return try absence(reason)
        default: throw CurlewError(.reachabilityUnavailable, "the kernel's answer about a route cannot be understood")
        }
    }

    /// Handles the kernel's answers without a route: no route was found, the route refuses packets, or the IP version
    /// is unsupported.
    private func absence(_ reason: Int32) throws -> NetworkRoute? {
        switch reason {
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, ENODEV, EAFNOSUPPORT, EOPNOTSUPP, ENOENT: return nil
        default: throw CurlewError(netlink: reason, "the kernel cannot report a route")
        }
    }

    /// The present state of an interface; nil if it no longer exists.
    func link(_ index: UInt32) throws -> NetworkLink? {
        switch try ask({ NetlinkRequest.link(index, sequence: $0) }) {
        case .link(let link): return link
        case .failure(ENODEV): return nil
        case .failure(let reason): throw CurlewError(netlink: reason, "the kernel cannot report an interface")
        default:
            throw CurlewError(.reachabilityUnavailable, "the kernel's answer about an interface cannot be understood")
        }
    }

    /// All interfaces.
    func links() throws -> [UInt32: NetworkLink] {
        for _ in 1..<Self.listAttempts {
            let (links, isWhole) = try list()
            if isWhole { return links }
        }
        // The list changes all the time. Each change is reported, and causes a new query.
        return try list().links
    }

    private func list() throws -> (links: [UInt32: NetworkLink], isWhole: Bool) {
        var links: [UInt32: NetworkLink] = [:]
        var isWhole = true
        try send { NetlinkRequest.links(sequence: $0) }
        while true {
            for message in try receive() {
                if message.isInterrupted { isWhole = false }
                switch message.content {
                case .link(let link): if links.count < Self.linkLimit { links[link.index] = link }
                case .done(0): return (links, isWhole)
                case .done(let reason), .failure(let reason):
                    throw CurlewError(netlink: reason, "the kernel cannot list the interfaces")
                default: break
                }
            }
        }
    }

    // MARK: Single queries

    private func ask(_ request: (UInt32) -> [UInt8]) throws -> NetlinkMessage.Content {
        try send(request)
        while true {
            if let message = try receive().first { return message.content }
        }
    }

    private func send(_ request: (UInt32) -> [UInt8]) throws {
        sequence = sequence == .max ? 1 : sequence + 1
        try socket.send(request(sequence))
    }

    /// The next messages in answer to the last request; empty if other messages arrived.
    private func receive() throws -> [NetlinkMessage] {
        switch socket.receive() {
        case .message(let bytes): return NetlinkMessage.read(bytes).filter { $0.sequence == sequence }
        case .foreign: return []
        case .lost: throw CurlewError(.resourcesExhausted, "the kernel's answer was longer than its buffer")
        case .nothing: throw CurlewError(.reachabilityUnavailable, "the kernel has not answered")
        case .failed(let reason): throw CurlewError(netlink: reason, "the kernel's answer cannot be read")
        }
    }
}
