internal import CZlib

/// A CRC-32 as computed by zlib. It detects damage, but not forgery.
package enum Checksum {
    package static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 { crc32(Array(bytes), after: 0) }

    /// The checksum in four bytes, the lowest first.
    package static func bytes(of bytes: some Sequence<UInt8>) -> [UInt8] {
        withUnsafeBytes(of: crc32(bytes).littleEndian) { Array($0) }
    }

    /// The checksum of bytes that follow others with a known checksum.
    package static func crc32(_ bytes: [UInt8], after previous: UInt32) -> UInt32 {
        // zlib interprets a null pointer as a request for the initial value.
        guard !bytes.isEmpty else { return previous }
        return bytes.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: CZlib.crc32_z(UInt(previous), $0.baseAddress, $0.count))
        }
    }
}
