/// The exchanges that wait for a connection to one place, first come, first served. Taking one out of the middle costs no more than
/// the next one.
struct WaitingTransfers {
    /// So many slots that are done with stay before the others move up.
    private static let compactionLimit = 64

    private var slots: [Transfer?] = []
    private var first = 0
    /// The place that the first slot stands for.
    private var firstPlace = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// - Returns: The place, by which the transfer is taken out.
    mutating func append(_ transfer: Transfer) -> Int {
        slots.append(transfer)
        count += 1
        return firstPlace + slots.count - 1
    }

    mutating func remove(at place: Int) {
        guard slots.indices.contains(place - firstPlace), slots[place - firstPlace] != nil else { return }
        slots[place - firstPlace] = nil
        count -= 1
        if isEmpty { return reset() }
        while first < slots.count, slots[first] == nil { first += 1 }
        compact()
    }

    /// Takes out the one that has waited longest.
    mutating func popFirst() -> Transfer? {
        guard first < slots.count, let transfer = slots[first] else { return nil }
        remove(at: firstPlace + first)
        return transfer
    }

    /// The one that has waited longest and fits.
    func first(where fits: (Transfer) -> Bool) -> Transfer? {
        for slot in slots[first...] { if let transfer = slot, fits(transfer) { return transfer } }
        return nil
    }

    /// All of them, the one that has waited longest first.
    var all: [Transfer] { slots[first...].compactMap { $0 } }

    private mutating func reset() {
        firstPlace += slots.count
        slots.removeAll(keepingCapacity: slots.capacity <= Self.compactionLimit)
        first = 0
    }

    private mutating func compact() {
        guard first > max(Self.compactionLimit, slots.count / 2) else { return }
        slots.removeFirst(first)
        firstPlace += first
        first = 0
    }
}
