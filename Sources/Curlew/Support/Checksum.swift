internal import CZlib

/// A CRC-32, as zlib counts it: against bytes that were damaged, not against those that were forged.
enum Checksum {
    static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
        let bytes = Array(bytes)
        return UInt32(truncatingIfNeeded: bytes.withUnsafeBufferPointer { CZlib.crc32_z(0, $0.baseAddress, $0.count) })
    }

    /// The checksum in four bytes, the lowest first.
    static func bytes(of bytes: some Sequence<UInt8>) -> [UInt8] {
        withUnsafeBytes(of: crc32(bytes).littleEndian) { Array($0) }
    }
}
