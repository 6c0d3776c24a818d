/// The object that a keyed container is for.
final class JSONMembers {
    let decoding: JSONDecoding
    // Nobody else sees them while they are read or written: a container has them to itself.
    @exclusivity(unchecked) fileprivate(set) var object: JSONTape.Place
    @exclusivity(unchecked) fileprivate(set) var keepsKeys: Bool

    init(of object: JSONTape.Place, in decoding: JSONDecoding, keepsKeys: Bool) {
        self.decoding = decoding
        self.object = object
        self.keepsKeys = keepsKeys
    }
}

/// The keyed containers of one decoding, for use again. To make one takes two allocations, and lookups of metadata that take
/// longer still.
///
/// It relies on `KeyedDecodingContainer` being one reference, which the standard library does not promise. It is one in Swift 6.2 and 6.3; with
/// later compilers containers are made anew, until somebody has looked. A container with another holder is left to that one.
struct JSONContainerCache {
    /// True for the compilers whose containers are known to be one reference.
    static var isKnownToWork: Bool {
        #if compiler(>=6.4)
        false
        #else
        true
        #endif
    }

    private struct Slot {
        var key: ObjectIdentifier?
        var container: AnyObject?
        var members: JSONMembers?
    }

    private var slots = Array(repeating: Slot(), count: 32)

    /// A container for keys of a type, if there is one that nobody holds.
    mutating func container(keyedBy key: ObjectIdentifier, of object: JSONTape.Place, keepsKeys: Bool) -> AnyObject? {
        let slot = slot(of: key)
        guard slots[slot].key == key, isKnownUniquelyReferenced(&slots[slot].container),
            let members = slots[slot].members
        else { return nil }
        members.object = object
        members.keepsKeys = keepsKeys
        return slots[slot].container
    }

    /// Keeps a container.
    mutating func keep<Key: CodingKey>(_ container: KeyedDecodingContainer<Key>, over members: JSONMembers) {
        guard MemoryLayout<KeyedDecodingContainer<Key>>.size == MemoryLayout<AnyObject>.size else { return }
        let slot = slot(of: ObjectIdentifier(Key.self))
        slots[slot] = Slot(
            key: ObjectIdentifier(Key.self), container: unsafeBitCast(container, to: AnyObject.self), members: members)
    }

    /// The slot of a type of keys: that which has it, or a free one, or that of another.
    @inline(__always)
    private func slot(of key: ObjectIdentifier) -> Int {
        let first = Int(bitPattern: (UInt(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15) >> 59)
        var slot = first
        for _ in 0..<8 {
            if slots[slot].key == key || slots[slot].key == nil { return slot }
            slot = (slot + 1) & 31
        }
        return first
    }
}
