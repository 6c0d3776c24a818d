/// Elements that wait for a turn. The next element is the earliest one of the highest level. Every eighth turn goes to
/// the element that has waited longest, so no element waits for ever.
///
/// All operations except searches take constant time. The slots of removed elements are reused.
package struct WaitingLine<Element> {
    /// The levels are 0, the lowest, to 4, the highest.
    private static var levelCount: Int { 5 }
    /// The number of turns of which one goes to the element that has waited longest.
    package static var period: Int { 8 }
    /// The most slots that an empty line keeps.
    private static var keptCapacity: Int { 64 }

    fileprivate struct Slot {
        var element: Element?
        /// The number of the element in the order of arrival.
        var arrival = 0
        var level = 0
        var previous = -1
        /// The next slot of the level, or the next free slot.
        var next = -1
    }

    private struct Level {
        var first = -1
        var last = -1
        var count = 0
    }

    private var slots: [Slot] = []
    private var free = -1
    /// The levels; empty until the first element arrives.
    private var levels: [Level] = []
    private var firstArrival = 0
    private var nextArrival = 0
    private var turns = 0
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Adds an element after the others of its level.
    /// - Returns: The place of the element, for its removal.
    package mutating func append(_ element: Element, level: Int) -> Int {
        let place = makeSlot(element, arrival: nextArrival, level: level)
        nextArrival += 1
        let last = levels[level].last
        slots[place].previous = last
        if last >= 0 { slots[last].next = place } else { levels[level].first = place }
        levels[level].last = place
        return place
    }

    /// Adds an element that has waited before, in front of the others of its level.
    /// - Returns: The place of the element, for its removal.
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
        levels[level].count += 1
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

    /// Removes an element.
    /// - Parameter place: The place of a waiting element.
    /// - Returns: The element.
    @discardableResult
    package mutating func remove(at place: Int) -> Element? {
        let slot = slots[place]
        guard let element = slot.element else { return nil }
        if slot.previous >= 0 { slots[slot.previous].next = slot.next } else { levels[slot.level].first = slot.next }
        if slot.next >= 0 { slots[slot.next].previous = slot.previous } else { levels[slot.level].last = slot.previous }
        count -= 1
        levels[slot.level].count -= 1
        if isEmpty {
            slots.removeAll(keepingCapacity: slots.capacity <= Self.keptCapacity)
            free = -1
        } else {
            slots[place] = Slot(next: free)
            free = place
        }
        return element
    }

    /// Counts a turn.
    package mutating func noteTurn() { turns = (turns + 1) % Self.period }

    /// The next element.
    package var first: Element? { first { _ in true } }

    /// The place of the next element.
    var firstPlace: Int? { place { _ in true } }

    /// The next element that satisfies a condition.
    package func first(where fits: (Element) -> Bool) -> Element? { place(where: fits).flatMap { slots[$0].element } }

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

    /// The place of the first element of the highest level.
    package var highestPlace: Int? { levels.last { $0.count > 0 }?.first }

    /// The place of the first element of the lowest level.
    package var lowestPlace: Int? { levels.first { $0.count > 0 }?.first }

    /// The place of the element that has waited longest.
    package var oldestPlace: Int? {
        levels.lazy.filter { $0.count > 0 }.map(\.first).min { slots[$0].arrival < slots[$1].arrival }
    }

    /// The element at a place; nil if it was removed.
    package func element(at place: Int) -> Element? { slots[place].element }

    /// The level of the element at a place.
    package func level(at place: Int) -> Int { slots[place].level }

    /// The number of elements of a level and of the higher levels.
    package func count(from level: Int) -> Int { levels.dropFirst(level).reduce(0) { $0 + $1.count } }

    /// All elements, level by level.
    package var all: [Element] {
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

extension WaitingLine: Sendable where Element: Sendable {}

extension WaitingLine.Slot: Sendable where Element: Sendable {}
