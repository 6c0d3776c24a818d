/// The requests that wait for a turn, by priority, and among equals in the order of their arrival.
///
/// A pure value. Every operation takes constant time on average, as a thousand may leave at once.
package struct WaitingQueue: Sendable {
    private struct Level: Sendable {
        /// In the order of arrival; those who have left are still in it.
        var numbers: [UInt64] = []
        var first = 0
        /// How many of them wait.
        var waiting = 0
    }

    /// Of so many turns one is of whoever has waited longest.
    static let fairness = 8

    /// The last priority first.
    private var levels = [Level](repeating: Level(), count: 5)
    private var levelOf: [UInt64: Int] = [:]
    private var turns = 0
    private var lastNumber: UInt64 = 0

    package init() {}

    package var count: Int { levelOf.count }
    package var isEmpty: Bool { levelOf.isEmpty }

    /// Lets somebody wait.
    /// - Returns: The number to call it by.
    package mutating func join(_ priority: RequestOptions.Priority) -> UInt64 {
        join(priority, as: lastNumber + 1)
        return lastNumber
    }

    /// Lets somebody wait under a number above all before, as where several queues share their numbers.
    mutating func join(_ priority: RequestOptions.Priority, as number: UInt64) {
        lastNumber = number
        levelOf[number] = priority.rawValue
        levels[priority.rawValue].numbers.append(number)
        levels[priority.rawValue].waiting += 1
    }

    /// A request that waits, beside others: the level of its priority, and its number.
    struct Head: Equatable {
        let level: Int
        let number: UInt64
    }

    /// The first of the highest priority; nil if none waits.
    mutating func first() -> Head? { head(of: levels.indices.reversed()) }

    /// The first of the lowest priority; nil if none waits.
    mutating func last() -> Head? { head(of: levels.indices) }

    /// The request that has waited longest; nil if none waits.
    mutating func oldest() -> Head? {
        levelOfOldest().flatMap { level in head(of: level).map { Head(level: level, number: $0) } }
    }

    private mutating func head(of levels: some Sequence<Int>) -> Head? {
        for level in levels {
            if let number = head(of: level) { return Head(level: level, number: number) }
        }
        return nil
    }

    /// - Returns: Whether it has waited.
    @discardableResult
    package mutating func leave(_ number: UInt64) -> Bool {
        guard let level = levelOf.removeValue(forKey: number) else { return false }
        levels[level].waiting -= 1
        if levelOf.isEmpty { reset() } else { compact(level) }
        return true
    }

    /// The number of those who would have their turn before a newcomer, as things stand.
    package func ahead(of priority: RequestOptions.Priority) -> Int {
        levels[priority.rawValue...].reduce(0) { $0 + $1.waiting }
    }

    /// Takes out whoever is next.
    package mutating func next() -> UInt64? {
        guard !levelOf.isEmpty else { return nil }
        turns += 1
        let level =
            turns % Self.fairness == 0 ? levelOfOldest() : levels.indices.reversed().first { head(of: $0) != nil }
        guard let level, let number = head(of: level) else { return nil }
        leave(number)
        return number
    }

    /// Takes out whoever has waited longest of those with the least priority, if that is not above another.
    package mutating func dropOldest(below priority: RequestOptions.Priority) -> UInt64? {
        guard let level = levels.indices.first(where: { head(of: $0) != nil }), level <= priority.rawValue,
            let number = head(of: level)
        else { return nil }
        leave(number)
        return number
    }

    private mutating func levelOfOldest() -> Int? {
        let heads = levels.indices.compactMap { level in head(of: level).map { (level, $0) } }
        return heads.min { $0.1 < $1.1 }?.0
    }

    /// The first of a level who still waits.
    private mutating func head(of level: Int) -> UInt64? {
        while levels[level].first < levels[level].numbers.count {
            let number = levels[level].numbers[levels[level].first]
            if levelOf[number] != nil { return number }
            levels[level].first += 1
        }
        return nil
    }

    private mutating func compact(_ level: Int) {
        let kept = levels[level].numbers.count
        guard kept > 64, kept > 2 * levels[level].waiting else { return }
        levels[level].numbers = levels[level].numbers.filter { levelOf[$0] != nil }
        levels[level].first = 0
    }

    private mutating func reset() {
        for level in levels.indices { levels[level] = Level() }
    }
}
