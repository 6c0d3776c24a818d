internal import CLinux
internal import CurlewPlatform

/// A message of the kernel about the network (rtnetlink(7)).
struct NetlinkMessage: Equatable {
    enum Content: Equatable {
        /// The present state of a network interface.
        case link(NetworkLink)
        /// The present state of a route, or the answer to a query for one.
        case route(NetworkRoute)
        /// The request failed with a system error number; 0 means success.
        case failure(Int32)
        /// The end of a list, with the error number that made it incomplete; 0 means success.
        case done(Int32)
        /// Messages were lost.
        case overrun
        /// Another message.
        case other
    }

    /// The number of the request that the message answers; 0 for a message without a request.
    let sequence: UInt32
    /// True if the list changed while it was read, so it may be wrong.
    let isInterrupted: Bool
    let content: Content

    private static let headerLength = 16

    /// The messages in a received buffer.
    ///
    /// Parsing stops at a message with an invalid length, because the position of the next one is unknown.
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

    /// The kernel writes an error number as a negative number.
    private static func reason(_ payload: NetlinkBytes) -> Int32? {
        payload.word.map { 0 &- Int32(bitPattern: $0) }
    }
}

/// A buffer from the kernel. Numbers are in the machine's byte order, and reads never exceed the end.
struct NetlinkBytes {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    var count: Int { bytes.count }

    /// The number at `offset`; nil if it exceeds the end.
    func number<Number: FixedWidthInteger & UnsignedInteger>(at offset: Int, as type: Number.Type) -> Number? {
        guard let part = part(offset, MemoryLayout<Number>.size) else { return nil }
        #if _endian(big)
        return part.bytes.reduce(0) { $0 << 8 | Number($1) }
        #else
        return part.bytes.reversed().reduce(0) { $0 << 8 | Number($1) }
        #endif
    }

    /// The `length` bytes at `offset`; nil if they exceed the end.
    func part(_ offset: Int, _ length: Int) -> NetlinkBytes? {
        guard offset >= 0, length >= 0, offset <= bytes.count, length <= bytes.count - offset else { return nil }
        let start = bytes.startIndex + offset
        return NetlinkBytes(bytes[start..<(start + length)])
    }

    /// The first four bytes as an unsigned number of 32 bits.
    var word: UInt32? { number(at: 0, as: UInt32.self) }

    /// The bytes as an address of four or sixteen bytes in network order.
    var address: IPAddress? { IPAddress(bytes: bytes) }

    /// The bytes up to the first zero, as text.
    var text: String { String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    /// The attributes from `offset` on, by their kind. Of several attributes of one kind, the last counts.
    ///
    /// Parsing stops at an attribute with an invalid length.
    func attributes(from offset: Int) -> [Int: NetlinkBytes] {
        var found: [Int: NetlinkBytes] = [:]
        var position = offset
        while let length = number(at: position, as: UInt16.self), let kind = number(at: position + 2, as: UInt16.self),
            length >= 4, let value = part(position + 4, Int(length) - 4)
        {
            // The two highest bits describe the layout of the value.
            found[Int(kind & 0x3FFF)] = value
            position += Self.aligned(Int(length))
        }
        return found
    }

    /// Messages and attributes begin at multiples of four bytes.
    static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }
}

/// A query to the kernel about the network, as bytes.
enum NetlinkRequest {
    /// A query for the route of a packet to an address.
    /// - Parameter link: The required interface; nil for any.
    static func route(to address: IPAddress, by link: UInt32?, sequence: UInt32) -> [UInt8] {
        var payload: [UInt8] = [UInt8(address.isIPv6 ? AF_INET6 : AF_INET), UInt8(address.width), 0, 0]
        payload += [UInt8](repeating: 0, count: 8)
        payload += attribute(Int(RTA_DST.rawValue), address.bytes)
        if let link { payload += attribute(Int(RTA_OIF.rawValue), bytes(link)) }
        return message(RTM_GETROUTE, flags: NLM_F_REQUEST, sequence, payload)
    }

    /// A query for an interface.
    static func link(_ index: UInt32, sequence: UInt32) -> [UInt8] {
        message(RTM_GETLINK, flags: NLM_F_REQUEST, sequence, linkPayload(index))
    }

    /// A query for all interfaces.
    static func links(sequence: UInt32) -> [UInt8] {
        message(RTM_GETLINK, flags: NLM_F_REQUEST | NLM_F_DUMP, sequence, linkPayload(0))
    }

    private static func linkPayload(_ index: UInt32) -> [UInt8] {
        // The counters, which are most of an answer, are excluded because they are not used.
        [0, 0, 0, 0] + bytes(index) + [UInt8](repeating: 0, count: 8)
            + attribute(IFLA_EXT_MASK, bytes(UInt32(RTEXT_FILTER_SKIP_STATS)))
    }

    private static func message(_ kind: Int, flags: Int32, _ sequence: UInt32, _ payload: [UInt8]) -> [UInt8] {
        bytes(UInt32(16 + payload.count)) + bytes(UInt16(kind)) + bytes(UInt16(flags)) + bytes(sequence)
            + bytes(UInt32(0)) + payload
    }

    /// The length of each value in these queries is a multiple of four bytes.
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
