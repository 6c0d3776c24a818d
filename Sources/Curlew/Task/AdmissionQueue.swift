/// The queue of a session on one loop: how many exchanges are under way there, and which wait for their turn, first come, first
/// served.
///
/// A pure value; whoever has it begins the tasks whose turn has come.
struct AdmissionQueue<Key: Hashable, Element> {
    private struct Entry {
        let key: Key
        let element: Element
        let deadline: Instant
    }

    /// So many slots that are done with stay before the others move up.
    private static var compactionLimit: Int { 1000 }

    private let limit: Int
    private(set) var underWay = 0
    /// Those that wait, and empty slots where others did.
    private var waiting: [Entry?] = []
    private var first = 0
    /// The place that the first slot of `waiting` stands for: slots that are done with are dropped.
    private var firstPlace = 0
    private var places: [Key: Int] = [:]

    /// - Parameter limit: How many may be under way at a time; 1 at least.
    init(limit: Int) { self.limit = max(1, limit) }

    /// True if nobody waits.
    var isEmpty: Bool { places.isEmpty }

    /// The number of exchanges that wait.
    var count: Int { places.count }

    /// Takes a place, if one is free.
    /// - Returns: Whether there was one.
    mutating func takePlace() -> Bool {
        guard underWay < limit else { return false }
        underWay += 1
        return true
    }

    /// Lets an element wait.
    /// - Parameter deadline: When its waiting is over.
    mutating func append(_ element: Element, _ key: Key, until deadline: Instant) {
        places[key] = firstPlace + waiting.count
        waiting.append(Entry(key: key, element: element, deadline: deadline))
    }

    /// Gives up the place that an element had, or its waiting.
    mutating func leave(_ key: Key, heldPlace: Bool) {
        if heldPlace { underWay -= 1 }
        guard !places.isEmpty, let place = places.removeValue(forKey: key) else { return }
        waiting[place - firstPlace] = nil
        if places.isEmpty { reset() }
    }

    /// The next whose turn has come; it has a place now.
    mutating func next() -> Element? {
        guard !places.isEmpty, underWay < limit else { return nil }
        while first < waiting.count {
            let slot = waiting[first]
            waiting[first] = nil
            first += 1
            guard let entry = slot else { continue }
            places[entry.key] = nil
            underWay += 1
            compact()
            return entry.element
        }
        return nil
    }

    private mutating func compact() {
        if places.isEmpty {
            reset()
        } else if first > Self.compactionLimit, first > waiting.count / 2 {
            waiting.removeFirst(first)
            firstPlace += first
            first = 0
        }
    }

    private mutating func reset() {
        waiting = []
        first = 0
        firstPlace = 0
    }

    /// The first deadline of those that wait.
    var nearestDeadline: Instant {
        waiting[first...].reduce(.distantFuture) { min($0, $1?.deadline ?? .distantFuture) }
    }

    /// Those whose waiting is over. They stay until they leave.
    func overdue(at now: Instant) -> [Element] {
        waiting[first...].compactMap { entry in entry.flatMap { $0.deadline <= now ? $0.element : nil } }
    }
}
