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
    /// True if what is listed changed meanwhile, so that the list may not be right.
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

/// Bytes of the kernel's, read as numbers of the machine's own order, and never beyond their end.
struct NetlinkBytes {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var count: Int { bytes.count }

    /// The number that stands `offset` bytes from the start; nil if it is not there as a whole.
    func number<Number: FixedWidthInteger & UnsignedInteger>(at offset: Int, as type: Number.Type) -> Number? {
        guard let part = part(offset, MemoryLayout<Number>.size) else { return nil }
        #if _endian(big)
        return part.bytes.reduce(0) { $0 << 8 | Number($1) }
        #else
        return part.bytes.reversed().reduce(0) { $0 << 8 | Number($1) }
        #endif
    }

    /// So many bytes from `offset` on; nil if they are not all there.
    func part(_ offset: Int, _ length: Int) -> NetlinkBytes? {
        guard offset >= 0, length >= 0, offset <= bytes.count, length <= bytes.count - offset else { return nil }
        let start = bytes.startIndex + offset
        return NetlinkBytes(bytes[start..<(start + length)])
    }

    /// The whole as an unsigned number of 32 bits.
    var word: UInt32? { number(at: 0, as: UInt32.self) }

    /// The whole as an address of four or sixteen bytes in network order.
    var address: IPAddress? { IPAddress(bytes: bytes) }

    /// The whole up to its first zero as text.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// The attributes that stand from `offset` on, by their kind; of several of one kind the last.
    ///
    /// What follows one whose length cannot be right is not read.
    func attributes(from offset: Int) -> [Int: NetlinkBytes] {
        var found: [Int: NetlinkBytes] = [:]
        var position = offset
        while let length = number(at: position, as: UInt16.self), let kind = number(at: position + 2, as: UInt16.self),
            length >= 4, let value = part(position + 4, Int(length) - 4)
        {
            // The two highest bits say how the value is laid out.
            found[Int(kind & 0x3FFF)] = value
            position += Self.aligned(Int(length))
        }
        return found
    }

    /// Messages and attributes begin at multiples of four bytes.
    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// A question to the kernel about the network, as bytes.
enum NetlinkRequest {
    /// The route that a packet to an address would take.
    /// - Parameter link: The interface that it has to leave by; nil for any.
    static func route(to address: IPAddress, by link: UInt32?, sequence: UInt32) -> [UInt8] {
        var payload: [UInt8] = [UInt8(address.isIPv6 ? AF_INET6 : AF_INET), UInt8(address.width), 0, 0]
        payload += [UInt8](repeating: 0, count: 8)
        payload += attribute(Int(RTA_DST.rawValue), address.bytes)
        if let link { payload += attribute(Int(RTA_OIF.rawValue), bytes(link)) }
        return message(RTM_GETROUTE, flags: NLM_F_REQUEST, sequence, payload)
    }

    /// One interface.
    static func link(_ index: UInt32, sequence: UInt32) -> [UInt8] {
        message(RTM_GETLINK, flags: NLM_F_REQUEST, sequence, linkPayload(index))
    }

    /// Every interface.
    static func links(sequence: UInt32) -> [UInt8] {
        message(RTM_GETLINK, flags: NLM_F_REQUEST | NLM_F_DUMP, sequence, linkPayload(0))
    }

    private static func linkPayload(_ index: UInt32) -> [UInt8] {
        // Counters are most of an answer, and nobody reads them.
        [0, 0, 0, 0] + bytes(index) + [UInt8](repeating: 0, count: 8)
            + attribute(IFLA_EXT_MASK, bytes(UInt32(RTEXT_FILTER_SKIP_STATS)))
    }

    private static func message(_ kind: Int, flags: Int32, _ sequence: UInt32, _ payload: [UInt8]) -> [UInt8] {
        bytes(UInt32(16 + payload.count)) + bytes(UInt16(kind)) + bytes(UInt16(flags)) + bytes(sequence)
            + bytes(UInt32(0)) + payload
    }

    /// Every value that is asked with has a multiple of four bytes.
    private static func attribute(_ kind: Int, _ value: [UInt8]) -> [UInt8] {
        bytes(UInt16(4 + value.count)) + bytes(UInt16(kind)) + value
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        #if _endian(big)
        let first = number.bitWidth - 8
        return stride(from: first, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
        #else
        return stride(from: 0, to: number.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
        #endif
    }
}
