/// The requests that wait for a turn, by priority, and in order of arrival among equals. Each has a number.
///
/// It is a pure value. Every operation takes constant time on average, as a thousand requests may leave at once.
package struct WaitingQueue: Sendable {
    private var line = WaitingLine<UInt64>()
    private var places: [UInt64: Int] = [:]
    private var lastNumber: UInt64 = 0

    package init() {}

    package var count: Int { line.count }
    package var isEmpty: Bool { line.isEmpty }

    /// Adds a request.
    /// - Returns: The number of the request.
    package mutating func join(_ priority: RequestOptions.Priority) -> UInt64 {
        join(priority, as: lastNumber + 1)
        return lastNumber
    }

    /// Adds a request under a number above all earlier ones, for queues that share their numbers.
    mutating func join(_ priority: RequestOptions.Priority, as number: UInt64) {
        lastNumber = number
        places[number] = line.append(number, level: priority.rawValue)
    }

    /// A waiting request: the level of its priority, and its number.
    struct Head: Equatable {
        let level: Int
        let number: UInt64
    }

    /// The first request of the highest priority; nil if no request waits.
    var first: Head? { head(at: line.highestPlace) }

    /// The first request of the lowest priority; nil if no request waits.
    var last: Head? { head(at: line.lowestPlace) }

    /// The oldest request; nil if no request waits.
    var oldest: Head? { head(at: line.oldestPlace) }

    private func head(at place: Int?) -> Head? {
        place.flatMap { place in line.element(at: place).map { Head(level: line.level(at: place), number: $0) } }
    }

    /// - Returns: True if the request was waiting.
    @discardableResult
    package mutating func leave(_ number: UInt64) -> Bool {
        guard let place = places.removeValue(forKey: number) else { return false }
        line.remove(at: place)
        return true
    }

    /// The number of requests that would be admitted before a new one at present.
    package func ahead(of priority: RequestOptions.Priority) -> Int { line.count(from: priority.rawValue) }

    /// Removes and returns the next request.
    package mutating func next() -> UInt64? {
        guard let number = line.first else { return nil }
        line.noteTurn()
        leave(number)
        return number
    }

    /// Removes and returns the oldest request of the lowest priority, unless its priority is above the given one.
    package mutating func dropOldest(below priority: RequestOptions.Priority) -> UInt64? {
        guard let last, last.level <= priority.rawValue else { return nil }
        leave(last.number)
        return last.number
    }
}
