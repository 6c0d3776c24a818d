/// Information about types, by type.
struct JSONTypeTable<Value> {
    private struct Slot {
        let type: ObjectIdentifier
        let value: Value
    }

    /// The slots. A type is in a slot between its own one and the first free one. They are in raw memory, because an
    /// array checks its bounds and retains itself at every value.
    private var slots: UnsafeMutablePointer<Slot?>
    private var mask = 31
    private(set) var count = 0

    init() {
        slots = .allocate(capacity: mask + 1)
        slots.initialize(repeating: nil, count: mask + 1)
    }

    func deallocate() {
        slots.deinitialize(count: mask + 1)
        slots.deallocate()
    }

    @inline(__always)
    func value(of type: ObjectIdentifier) -> Value? {
        var place = start(type)
        while let slot = slots[place] {
            if slot.type == type { return slot.value }
            place = (place &+ 1) & mask
        }
        return nil
    }

    mutating func add(_ value: Value, for type: ObjectIdentifier) {
        if count * 2 > mask { grow() }
        put(Slot(type: type, value: value))
        count += 1
    }

    @inline(__always)
    private func start(_ type: ObjectIdentifier) -> Int {
        // The addresses of types are multiples of eight.
        let mixed = UInt(bitPattern: type) >> 3 &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 40) & mask
    }

    private mutating func put(_ slot: Slot) {
        var place = start(slot.type)
        while slots[place] != nil { place = (place + 1) & mask }
        slots[place] = slot
    }

    private mutating func grow() {
        let old = self
        mask = mask * 2 + 1
        slots = .allocate(capacity: mask + 1)
        slots.initialize(repeating: nil, count: mask + 1)
        for place in 0...old.mask {
            if let slot = old.slots[place] { put(slot) }
        }
        old.deallocate()
    }
}
