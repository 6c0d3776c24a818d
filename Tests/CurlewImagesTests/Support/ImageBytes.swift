#if Images && TestKit
import CurlewTesting
import HTTPTypes

/// An answer with a body of this type.
func imageResponse(_ bytes: [UInt8], type: String = "image/png") -> MockResponse {
    MockResponse(fields: [.contentType: type], body: .bytes(bytes))
}

/// A number in little-endian order.
func littleEndian(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
}

/// The checksum of a chunk (PNG, annex D), in big-endian order.
func pngChecksum(_ bytes: [UInt8]) -> [UInt8] {
    var sum: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 {
            let isOdd = sum & 1 != 0
            sum >>= 1
            if isOdd { sum ^= 0xEDB8_8320 }
        }
    }
    return littleEndian(Int(~sum), 4).reversed()
}

/// A TIFF of sixteen grey pixels with any directory: tag, type, count and value.
func grayTIFF(_ entries: [(Int, Int, Int, Int)]) -> [UInt8] {
    var file: [UInt8] = [0x49, 0x49, 0x2A, 0, 24, 0, 0, 0] + [UInt8](repeating: 128, count: 16)
    file += littleEndian(entries.count, 2)
    for (tag, type, count, value) in entries {
        file += littleEndian(tag, 2) + littleEndian(type, 2) + littleEndian(count, 4) + littleEndian(value, 4)
    }
    return file + littleEndian(0, 4)
}
#endif
