/// Elements that wait for a turn. The next is the one that came first of those with the highest level; of eight turns one is of
/// the element that has waited longest of all, so that none waits for ever.
///
/// Every operation but a search takes constant time, wherever the element stands. The slots of elements that are gone are used
/// again.
struct WaitingLine<Element> {
    /// The levels are 0, the last, to 4, the first.
    private static var levelCount: Int { 5 }
    /// Of so many turns one is of the element that has waited longest.
    private static var period: Int { 8 }
    /// An empty line keeps as many slots at most.
    private static var keptCapacity: Int { 64 }

    private struct Slot {
        var element: Element?
        /// The number of the element in the order of arrival.
        var arrival = 0
        var level = 0
        var previous = -1
        /// The slot behind this one, or the next free one.
        var next = -1
    }

    private struct Level {
        var first = -1
        var last = -1
    }

    private var slots: [Slot] = []
    private var free = -1
    /// Empty until the first element comes.
    private var levels: [Level] = []
    private var firstArrival = 0
    private var nextArrival = 0
    private var turns = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Adds an element behind the others of its level.
    /// - Returns: Its place, by which it is taken out.
    mutating func append(_ element: Element, level: Int) -> Int {
        let place = makeSlot(element, arrival: nextArrival, level: level)
        nextArrival += 1
        let last = levels[level].last
        slots[place].previous = last
        if last >= 0 { slots[last].next = place } else { levels[level].first = place }
        levels[level].last = place
        return place
    }

    /// Puts an element that has waited before in front of the others of its level.
    /// - Returns: Its place, by which it is taken out.
    mutating func prepend(_ element: Element, level: Int) -> Int {
        firstArrival -= 1
        let place = makeSlot(element, arrival: firstArrival, level: level)
        let first = levels[level].first
        slots[place].next = first
        if first >= 0 { slots[first].previous = place } else { levels[level].last = place }
        levels[level].first = place
        return place
    }

    private mutating func makeSlot(_ element: Element, arrival: Int, level: Int) -> Int {
        if levels.isEmpty { levels = Array(repeating: Level(), count: Self.levelCount) }
        count += 1
        let slot = Slot(element: element, arrival: arrival, level: level)
        guard free >= 0 else {
            slots.append(slot)
            return slots.count - 1
        }
        let place = free
        free = slots[place].next
        slots[place] = slot
        return place
    }

    /// Takes an element out.
    /// - Parameter place: The place of an element that waits.
    /// - Returns: The element.
    @discardableResult
    mutating func remove(at place: Int) -> Element? {
        let slot = slots[place]
        guard let element = slot.element else { return nil }
        if slot.previous >= 0 { slots[slot.previous].next = slot.next } else { levels[slot.level].first = slot.next }
        if slot.next >= 0 { slots[slot.next].previous = slot.previous } else { levels[slot.level].last = slot.previous }
        count -= 1
        if isEmpty {
            slots.removeAll(keepingCapacity: slots.capacity <= Self.keptCapacity)
            free = -1
        } else {
            slots[place] = Slot(next: free)
            free = place
        }
        return element
    }

    /// Notes that the next element has had its turn.
    mutating func noteTurn() { turns = (turns + 1) % Self.period }

    /// The next element.
    var first: Element? { first { _ in true } }

    /// The place of the next element.
    var firstPlace: Int? { place { _ in true } }

    /// The next of the elements that fit.
    func first(where fits: (Element) -> Bool) -> Element? { place(where: fits).flatMap { slots[$0].element } }

    private func place(where fits: (Element) -> Bool) -> Int? {
        guard count > 0 else { return nil }
        var found: Int?
        for level in levels.reversed() {
            guard let place = place(from: level.first, where: fits) else { continue }
            guard turns == Self.period - 1 else { return place }
            if let other = found, slots[other].arrival < slots[place].arrival { continue }
            found = place
        }
        return found
    }

    private func place(from start: Int, where fits: (Element) -> Bool) -> Int? {
        var place = start
        while place >= 0 {
            if let element = slots[place].element, fits(element) { return place }
            place = slots[place].next
        }
        return nil
    }

    /// All elements, level by level.
    var all: [Element] {
        var all: [Element] = []
        all.reserveCapacity(count)
        for level in levels.reversed() {
            var place = level.first
            while place >= 0 {
                if let element = slots[place].element { all.append(element) }
                place = slots[place].next
            }
        }
        return all
    }
}
