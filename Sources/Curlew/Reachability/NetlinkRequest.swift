internal import CLinux
internal import Glibc

/// What the kernel is asked about the network, as bytes.
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
