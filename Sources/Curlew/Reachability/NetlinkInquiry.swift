internal import Glibc

/// Asks the kernel about the network. It answers at once, so that nothing is waited for.
final class NetlinkInquiry {
    private let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// Interfaces beyond this are not looked at.
    private static let linkLimit = 16_384
    /// A list that was taken while it changed is taken again so often at most.
    private static let listAttempts = 4

    init(_ open: NetlinkOpening) throws { socket = try NetlinkSocket(open) }

    /// Waits until the kernel is done with a change that it has begun to report.
    ///
    /// The routes of an interface that is switched off are taken away after the message that it is off, and without
    /// another one. Interfaces are asked for under the lock that such a change holds.
    func settle() { _ = try? link(1) }

    /// The route that a packet to an address would take now; nil if there is none.
    /// - Parameter link: The interface that it has to leave by; nil for any.
    /// - Throws: ``CurlewError`` if the kernel does not say.
    func route(to address: IPAddress, by link: UInt32?) throws -> NetworkRoute? {
        let answer = try ask { NetlinkRequest.route(to: address, by: link, sequence: $0) }
        switch answer {
        case .route(let route): return route
        case .failure(let reason): return try absence(reason)
        default: throw CurlewError(.reachabilityUnavailable, "the kernel's answer about a route makes no sense")
        }
    }

    /// The kernel's answer where there is no route: none was found, or it is one of those that refuse; or it does not
    /// speak that version of IP.
    private func absence(_ reason: Int32) throws -> NetworkRoute? {
        switch reason {
        case ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, ENETDOWN, ENODEV, EAFNOSUPPORT, EOPNOTSUPP, ENOENT: return nil
        default: throw CurlewError(netlink: reason, "the kernel cannot tell a route")
        }
    }

    /// An interface as it is now; nil if it is gone.
    func link(_ index: UInt32) throws -> NetworkLink? {
        switch try ask({ NetlinkRequest.link(index, sequence: $0) }) {
        case .link(let link): return link
        case .failure(ENODEV): return nil
        case .failure(let reason): throw CurlewError(netlink: reason, "the kernel cannot tell of an interface")
        default: throw CurlewError(.reachabilityUnavailable, "the kernel's answer about an interface makes no sense")
        }
    }

    /// Every interface.
    func links() throws -> [UInt32: NetworkLink] {
        for _ in 1..<Self.listAttempts {
            let (links, isWhole) = try list()
            if isWhole { return links }
        }
        // It changes all the time; each change is reported, and asked about anew.
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

    // MARK: One question, one answer

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

    /// The next messages that answer the last request; none, if it was something else that came.
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
