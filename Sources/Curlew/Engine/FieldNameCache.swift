internal import Glibc
internal import HTTPTypes

/// Field names as they were met before, so that checking, copying and lowering them is done once. Bounded; one a loop.
///
/// Not `Sendable`: it never leaves its loop's thread.
final class FieldNameCache {
    private struct Slot {
        var bytes: [UInt8] = []
        var name: HTTPField.Name?
    }

    private static let slotCount = 256
    private var slots = Array(repeating: Slot(), count: slotCount)

    /// The name that the bytes spell, in their own case; nil if they are no token.
    func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        guard bytes.count <= 64 else { return HTTPField.Name(String(decoding: bytes, as: UTF8.self)) }
        var hash: UInt32 = 2_166_136_261
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let index = Int(hash % UInt32(Self.slotCount))
        if let known = slots[index].name, Self.equal(slots[index].bytes, bytes) { return known }
        guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
        slots[index] = Slot(bytes: Array(bytes), name: name)
        return name
    }

    private static func equal(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard known.count == bytes.count, let start = bytes.baseAddress else { return false }
        return known.withUnsafeBytes { $0.baseAddress.map { memcmp($0, start, bytes.count) == 0 } ?? false }
    }
}
