internal import CLinux
internal import Glibc

/// A message of the kernel's about the network (rtnetlink(7)).
struct NetlinkMessage: Equatable {
    enum Content: Equatable {
        /// A network interface as it is now.
        case link(NetworkLink)
        /// A route as it is now, or as the answer to the question for one.
        case route(NetworkRoute)
        /// The request failed for this reason of the system's; 0 is none.
        case failure(Int32)
        /// The end of a list, with the reason for which it is not whole; 0 is none.
        case done(Int32)
        /// Messages were lost.
        case overrun
        /// Anything else.
        case other
    }

    /// The number of the request that it answers; 0 if nobody asked.
    let sequence: UInt32
    /// Whether what is listed changed meanwhile, so that the list may not be right.
    let isInterrupted: Bool
    let content: Content

    private static let headerLength = 16

    /// The messages that stand one after the other in what was received.
    ///
    /// What follows one whose length cannot be right is not read, as nobody knows where the next one begins.
    static func read(_ received: ArraySlice<UInt8>) -> [NetlinkMessage] {
        let bytes = NetlinkBytes(received)
        var messages: [NetlinkMessage] = []
        var position = 0
        while let header = bytes.part(position, headerLength), let length = header.word.map(Int.init),
            length >= headerLength, let payload = bytes.part(position + headerLength, length - headerLength),
            let message = NetlinkMessage(header: header, payload: payload)
        {
            messages.append(message)
            position += NetlinkBytes.aligned(length)
        }
        return messages
    }

    private init?(header: NetlinkBytes, payload: NetlinkBytes) {
        guard let kind = header.number(at: 4, as: UInt16.self), let flags = header.number(at: 6, as: UInt16.self),
            let sequence = header.number(at: 8, as: UInt32.self)
        else { return nil }
        self.sequence = sequence
        isInterrupted = flags & UInt16(NLM_F_DUMP_INTR) != 0
        content = Self.content(Int(kind), payload)
    }

    private static func content(_ kind: Int, _ payload: NetlinkBytes) -> Content {
        switch kind {
        case RTM_NEWLINK: NetworkLink(payload).map(Content.link) ?? .other
        case RTM_NEWROUTE: NetworkRoute(payload).map(Content.route) ?? .other
        case Int(NLMSG_ERROR): reason(payload).map(Content.failure) ?? .other
        case Int(NLMSG_DONE): .done(reason(payload) ?? 0)
        case Int(NLMSG_OVERRUN): .overrun
        default: .other
        }
    }

    /// The kernel writes a reason as its negative.
    private static func reason(_ payload: NetlinkBytes) -> Int32? {
        payload.word.map { 0 &- Int32(bitPattern: $0) }
    }
}
