/// The queue of a session on one loop: the number of exchanges under way there, and those that wait for their turn, by priority.
///
/// A pure value; whoever has it begins the exchanges whose turn has come.
struct AdmissionQueue<Element> {
    private struct Entry {
        let element: Element
        let deadline: Instant
    }

    private let limit: Int
    private(set) var underWay = 0
    private var waiting = WaitingLine<Entry>()

    /// - Parameter limit: The most that may be under way at a time; 1 at least.
    init(limit: Int) { self.limit = max(1, limit) }

    /// True if nobody waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// The number of exchanges that wait.
    var count: Int { waiting.count }

    /// Takes a place among those under way, if one is free.
    /// - Returns: Whether there was one.
    mutating func beginAtOnce() -> Bool {
        guard underWay < limit else { return false }
        underWay += 1
        return true
    }

    /// Notes that an exchange under way has ended.
    mutating func noteEnd() { underWay -= 1 }

    /// Lets an element wait.
    /// - Parameter deadline: The end of its waiting.
    /// - Returns: Its place in the queue.
    mutating func append(_ element: Element, _ priority: RequestOptions.Priority, until deadline: Instant) -> Int {
        waiting.append(Entry(element: element, deadline: deadline), level: priority.rawValue)
    }

    /// An element gives up waiting.
    mutating func withdraw(at place: Int) { waiting.remove(at: place) }

    /// The next whose turn has come; it is under way now.
    mutating func next() -> Element? {
        guard underWay < limit, let place = waiting.firstPlace else { return nil }
        underWay += 1
        waiting.noteTurn()
        return waiting.remove(at: place)?.element
    }

    /// The first deadline of those that wait.
    var nearestDeadline: Instant { waiting.all.reduce(.distantFuture) { min($0, $1.deadline) } }

    /// Those whose waiting is over. They stay until they are withdrawn.
    func overdue(at now: Instant) -> [Element] { waiting.all.filter { $0.deadline <= now }.map(\.element) }
}
