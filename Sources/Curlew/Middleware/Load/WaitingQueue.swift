/// The requests that wait for a turn, by priority, and in order of arrival among equals.
///
/// It is a pure value. Every operation takes constant time on average, as a thousand requests may leave at once.
package struct WaitingQueue: Sendable {
    private struct Level: Sendable {
        /// The numbers in order of arrival, including requests that have left.
        var numbers: [UInt64] = []
        var first = 0
        /// The number of waiting requests.
        var waiting = 0
    }

    /// Every eighth turn goes to the oldest request, so that low priorities are not starved.
    static let fairness = 8

    /// The levels, the lowest priority first.
    private var levels = [Level](repeating: Level(), count: 5)
    private var levelOf: [UInt64: Int] = [:]
    private var turns = 0
    private var lastNumber: UInt64 = 0

    package init() {}

    package var count: Int { levelOf.count }
    package var isEmpty: Bool { levelOf.isEmpty }

    /// Adds a request.
    /// - Returns: The number of the request.
    package mutating func join(_ priority: RequestOptions.Priority) -> UInt64 {
        join(priority, as: lastNumber + 1)
        return lastNumber
    }

    /// Adds a request under a number above all earlier ones, for queues that share their numbers.
    mutating func join(_ priority: RequestOptions.Priority, as number: UInt64) {
        lastNumber = number
        levelOf[number] = priority.rawValue
        levels[priority.rawValue].numbers.append(number)
        levels[priority.rawValue].waiting += 1
    }

    /// A waiting request: the level of its priority, and its number.
    struct Head: Equatable {
        let level: Int
        let number: UInt64
    }

    /// The first request of the highest priority; nil if no request waits.
    mutating func first() -> Head? { head(of: levels.indices.reversed()) }

    /// The first request of the lowest priority; nil if no request waits.
    mutating func last() -> Head? { head(of: levels.indices) }

    /// The oldest request; nil if no request waits.
    mutating func oldest() -> Head? {
        levelOfOldest().flatMap { level in head(of: level).map { Head(level: level, number: $0) } }
    }

    private mutating func head(of levels: some Sequence<Int>) -> Head? {
        for level in levels {
            if let number = head(of: level) { return Head(level: level, number: number) }
        }
        return nil
    }

    /// - Returns: True if the request was waiting.
    @discardableResult
    package mutating func leave(_ number: UInt64) -> Bool {
        guard let level = levelOf.removeValue(forKey: number) else { return false }
        levels[level].waiting -= 1
        if levelOf.isEmpty { reset() } else { compact(level) }
        return true
    }

    /// The number of requests that would be admitted before a new one at present.
    package func ahead(of priority: RequestOptions.Priority) -> Int {
        levels[priority.rawValue...].reduce(0) { $0 + $1.waiting }
    }

    /// Removes and returns the next request.
    package mutating func next() -> UInt64? {
        guard !levelOf.isEmpty else { return nil }
        turns += 1
        let level =
            turns % Self.fairness == 0 ? levelOfOldest() : levels.indices.reversed().first { head(of: $0) != nil }
        guard let level, let number = head(of: level) else { return nil }
        leave(number)
        return number
    }

    /// Removes and returns the oldest request of the lowest priority, unless its priority is above the given one.
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

    /// The first request of a level that still waits.
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
