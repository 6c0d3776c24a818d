/// The queue of a session on one loop: the number of running exchanges, and the waiting ones, by priority.
///
/// It is a pure value; its owner begins the exchanges that are admitted.
struct AdmissionQueue<Element> {
    private struct Entry {
        let element: Element
        let deadline: Instant
    }

    private let limit: Int
    private(set) var underWay = 0
    private var waiting = WaitingLine<Entry>()

    /// - Parameter limit: The largest number of running exchanges; at least 1.
    init(limit: Int) { self.limit = max(1, limit) }

    /// True if no exchange waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// The number of exchanges that wait.
    var count: Int { waiting.count }

    /// Occupies a slot, if one is free.
    /// - Returns: True if there was one.
    mutating func beginAtOnce() -> Bool {
        guard underWay < limit else { return false }
        underWay += 1
        return true
    }

    /// Records the end of a running exchange.
    mutating func noteEnd() { underWay -= 1 }

    /// Adds a waiting element.
    /// - Parameter deadline: The end of its wait.
    /// - Returns: Its place in the queue.
    mutating func append(_ element: Element, _ priority: RequestOptions.Priority, until deadline: Instant) -> Int {
        waiting.append(Entry(element: element, deadline: deadline), level: priority.rawValue)
    }

    /// Removes a waiting element.
    mutating func withdraw(at place: Int) { waiting.remove(at: place) }

    /// The next admissible element, which occupies a slot from now on; nil if there is none.
    mutating func next() -> Element? {
        guard underWay < limit, let place = waiting.firstPlace else { return nil }
        underWay += 1
        waiting.noteTurn()
        return waiting.remove(at: place)?.element
    }

    /// The earliest deadline of the waiting elements.
    var nearestDeadline: Instant { waiting.all.reduce(.distantFuture) { min($0, $1.deadline) } }

    /// The elements whose deadline has passed. They stay in the queue until they are withdrawn.
    func overdue(at now: Instant) -> [Element] { waiting.all.filter { $0.deadline <= now }.map(\.element) }
}
