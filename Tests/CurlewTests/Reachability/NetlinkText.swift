import Glibc

@testable import CurlewCore

/// Netlink messages in the format of the kernel, for the tests of the parser.
enum NetlinkText {
    static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: NetlinkBytes.aligned(bytes.count) - bytes.count)
    }

    static func attribute(_ kind: Int, _ value: [UInt8]) -> [UInt8] {
        padded(bytes(UInt16(4 + value.count)) + bytes(UInt16(kind)) + value)
    }

    static func message(_ kind: Int, flags: Int = 0, sequence: UInt32 = 7, _ payload: [UInt8]) -> [UInt8] {
        padded(
            bytes(UInt32(16 + payload.count)) + bytes(UInt16(kind)) + bytes(UInt16(flags)) + bytes(sequence)
                + bytes(UInt32(0)) + payload)
    }

    /// The fixed part of a message about a link.
    static func linkHead(family: UInt8 = 0, hardware: UInt16 = 1, index: UInt32 = 3, flags: UInt32 = 0x43) -> [UInt8] {
        [family, 0] + bytes(hardware) + bytes(index) + bytes(flags) + bytes(UInt32(0))
    }

    static func name(_ text: String) -> [UInt8] { attribute(3, Array(text.utf8) + [0]) }

    static func driver(_ text: String) -> [UInt8] { attribute(18, attribute(1, Array(text.utf8) + [0])) }

    /// The fixed part of a message about a route.
    static func routeHead(family: Int32 = AF_INET, kind: UInt8 = 1) -> [UInt8] {
        [UInt8(family), 32, 0, 0, 254, 0, 0, kind] + bytes(UInt32(0))
    }
}
