/// The object of a keyed container.
final class JSONMembers {
    let decoding: JSONDecoding
    // The container has exclusive access to both properties.
    @exclusivity(unchecked) fileprivate(set) var object: JSONTape.Place
    @exclusivity(unchecked) fileprivate(set) var keepsKeys: Bool

    init(of object: JSONTape.Place, in decoding: JSONDecoding, keepsKeys: Bool) {
        self.decoding = decoding
        self.object = object
        self.keepsKeys = keepsKeys
    }
}

/// The keyed containers of one decoding, for reuse. A new container takes two allocations, and look-ups of metadata
/// that take even longer.
///
/// The cache relies on `KeyedDecodingContainer` being a single reference. The standard library does not guarantee this,
/// but it is true in Swift 6.2 and 6.3. With later compilers, containers are always new until this has been checked. A
/// container with another reference to it is not reused.
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

    /// An unused container for keys of a type; nil if the cache has none.
    mutating func container(keyedBy key: ObjectIdentifier, of object: JSONTape.Place, keepsKeys: Bool) -> AnyObject? {
        let slot = slot(of: key)
        guard slots[slot].key == key, isKnownUniquelyReferenced(&slots[slot].container),
            let members = slots[slot].members
        else { return nil }
        members.object = object
        members.keepsKeys = keepsKeys
        return slots[slot].container
    }

    /// Stores a container.
    mutating func keep<Key: CodingKey>(_ container: KeyedDecodingContainer<Key>, over members: JSONMembers) {
        guard MemoryLayout<KeyedDecodingContainer<Key>>.size == MemoryLayout<AnyObject>.size else { return }
        let slot = slot(of: ObjectIdentifier(Key.self))
        slots[slot] = Slot(
            key: ObjectIdentifier(Key.self), container: unsafeBitCast(container, to: AnyObject.self), members: members)
    }

    /// The slot for a type of keys: its own slot, else a free one, else the slot of another type.
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
