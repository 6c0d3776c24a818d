/// The bytes that are on their way to a disk: how many at a time, and what became of them.
struct WriteWindow {
    typealias Waiter = CheckedContinuation<Void, any Error>

    /// The most bytes on their way; a single piece may be larger, and then goes alone.
    let limit: Int
    private var inFlight = 0
    /// The first failure. Nothing is written after it.
    private(set) var failure: CurlewError?
    private var waiting: [(count: Int, waiter: Waiter)] = []

    init(limit: Int) { self.limit = limit }

    /// Takes so many bytes in if there is room and nobody waits for it.
    mutating func admit(_ count: Int) throws -> Bool {
        if let failure { throw failure }
        guard waiting.isEmpty, hasRoom(for: count) else { return false }
        inFlight += count
        return true
    }

    mutating func wait(for count: Int, _ waiter: Waiter) { waiting.append((count, waiter)) }

    /// So many bytes are written, or will not be.
    /// - Returns: Who need wait no longer.
    mutating func finish(_ count: Int, failure newFailure: CurlewError?) -> [Waiter] {
        inFlight -= count
        failure = failure ?? newFailure
        var woken: [Waiter] = []
        while let first = waiting.first, failure != nil || hasRoom(for: first.count) {
            if failure == nil { inFlight += first.count }
            woken.append(waiting.removeFirst().waiter)
        }
        return woken
    }

    private func hasRoom(for count: Int) -> Bool { inFlight == 0 || inFlight + count <= limit }
}
