/// The exchanges that wait for a connection to one place, first come, first served. Taking one out of the middle costs no more than
/// the next one.
struct WaitingTransfers {
    /// The number of empty slots that stay before the others move up.
    private static let compactionLimit = 64

    private var slots: [Transfer?] = []
    private var first = 0
    /// The place that the first slot stands for. A place is what a transfer is taken out by; the transfer keeps it.
    private var firstPlace = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ transfer: Transfer) {
        transfer.waitingPlace = firstPlace + slots.count
        slots.append(transfer)
        count += 1
    }

    /// Puts an exchange that has waited before in front of the others.
    mutating func prepend(_ transfer: Transfer) {
        if first > 0 {
            first -= 1
            slots[first] = transfer
        } else {
            slots.insert(transfer, at: 0)
            firstPlace -= 1
        }
        transfer.waitingPlace = firstPlace + first
        count += 1
    }

    mutating func remove(_ transfer: Transfer) {
        let index = transfer.waitingPlace - firstPlace
        guard slots.indices.contains(index), slots[index] === transfer else { return }
        slots[index] = nil
        count -= 1
        if isEmpty { return reset() }
        while first < slots.count, slots[first] == nil { first += 1 }
        compact()
    }

    /// The one that has waited longest.
    var oldest: Transfer? { first < slots.count ? slots[first] : nil }

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
        guard slots.count - count > max(Self.compactionLimit, count) else { return }
        slots = all
        first = 0
        for (index, slot) in slots.enumerated() { slot?.waitingPlace = firstPlace + index }
    }
}
