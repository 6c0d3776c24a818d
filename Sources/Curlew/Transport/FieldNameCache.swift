internal import HTTPTypes

/// Field names as they were met before, so that checking, copying and lowering them is done once. Bounded; one a loop.
///
/// Not `Sendable`: it never leaves its loop's thread.
final class FieldNameCache {
    private static let slotCount = 256
    private var slots: [HTTPField.Name?] = Array(repeating: nil, count: slotCount)

    /// The name that the bytes spell, in their own case; nil if they are no token.
    func name(_ bytes: UnsafeRawBufferPointer) -> HTTPField.Name? {
        guard bytes.count <= 64 else { return HTTPField.Name(String(decoding: bytes, as: UTF8.self)) }
        var hash: UInt32 = 2_166_136_261
        for byte in bytes { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let slot = Int(hash % UInt32(Self.slotCount))
        if let known = slots[slot], Self.matches(known.rawName, bytes) { return known }
        guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else { return nil }
        slots[slot] = name
        return name
    }

    private static func matches(_ name: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        name.utf8.count == bytes.count && name.utf8.elementsEqual(bytes)
    }
}
